package repair

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Truth is the store.
type Truth interface {
	Standings(ctx context.Context, board scoreboard.BoardID, size int, do func([]scoreboard.Change) error) error
	NextEpoch(ctx context.Context) (int64, error)
}

// Ranking is what is rebuilt.
type Ranking interface {
	Mark(ctx context.Context, board scoreboard.BoardID, token string) (bool, error)
	Fill(ctx context.Context, board scoreboard.BoardID, token string, changes []scoreboard.Change) error
	Swap(ctx context.Context, board *scoreboard.Board, token string, epoch int64, updated time.Time) (int64, error)
	Cold(ctx context.Context, boards []scoreboard.Board) ([]scoreboard.Board, error)
}

// chunk is how many users are read and filled at once.
const chunk = 1000

// Rebuilt says what a rebuild did.
type Rebuilt struct {
	Board scoreboard.BoardID
	Epoch int64
	Users int64 // ranked
	Took  time.Duration
}

// Rebuild makes a board anew from the store. It returns a conflict where
// another rebuild of the board is under way.
func Rebuild(ctx context.Context, truth Truth, ranking Ranking, board *scoreboard.Board) (*Rebuilt, error) {
	started := time.Now()
	token := rand.Text()
	marked, err := ranking.Mark(ctx, board.ID, token)
	if err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	if !marked {
		return nil, scoreboard.Errorf(scoreboard.CodeConflict, "board %s is being rebuilt already", board.ID)
	}
	updated := board.Created
	err = truth.Standings(ctx, board.ID, chunk, func(states []scoreboard.Change) error {
		for i := range states {
			if states[i].RecordedAt.After(updated) {
				updated = states[i].RecordedAt
			}
		}
		return ranking.Fill(ctx, board.ID, token, states)
	})
	if err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	epoch, err := truth.NextEpoch(ctx)
	if err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	users, err := ranking.Swap(ctx, board, token, epoch, updated)
	if err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	return &Rebuilt{Board: board.ID, Epoch: epoch, Users: users, Took: time.Since(started)}, nil
}
