package history

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// AddRanks adds a sample of chosen users, by rank, at a chosen hour.
func (m *PastBoards) AddRanks(
	ctx context.Context, board scoreboard.BoardID, hour time.Time, users []scoreboard.UserID,
) error {
	ranks := make([]int64, len(users))
	for i := range ranks {
		ranks[i] = int64(i) + 1
	}
	return m.addRanks(ctx, board, hour, users, ranks)
}

// RepeatRanks is a sample of a board that has not changed.
func (m *PastBoards) RepeatRanks(ctx context.Context, board scoreboard.BoardID, hour time.Time) error {
	return m.repeatRanks(ctx, board, hour)
}

// SetBlockUsers sets the number of standings in a block of the checkpoints that m makes.
func (m *PastBoards) SetBlockUsers(n int) { m.blockUsers = n }

// SetMaxEvents sets how many events one read may need beyond a checkpoint.
func (m *PastBoards) SetMaxEvents(n int) { m.maxEvents = n }

// SetMaxWhatIf sets how many rows a what-if may read.
func (m *PastBoards) SetMaxWhatIf(n int) { m.maxWhatIf = n }

// HoldWhatIf is as a what-if that runs until release is called.
func (m *PastBoards) HoldWhatIf() (release func()) {
	m.whatIfWait = 10 * time.Millisecond
	release, _ = m.whatIf.Try(context.Background(), share.Claim{})
	return release
}

// TakeWhatIf waits for the turn of a what-if, which runs until release is called.
func (m *PastBoards) TakeWhatIf(ctx context.Context, board *scoreboard.Board) (release func(), err error) {
	return m.takeWhatIf(ctx, board)
}

// WaitingWhatIfs returns how many wait for their turn.
func (m *PastBoards) WaitingWhatIfs() int { return m.whatIf.Waiting() }

// HoldRead is as a read of a board that runs until release is called; false without a slot.
func (m *PastBoards) HoldRead(ctx context.Context, board scoreboard.BoardID, long bool) (release func(), ok bool) {
	return m.slots.Try(ctx, share.Claim{Board: string(board), Long: long})
}
