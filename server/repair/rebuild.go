package repair

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Truth is the store.
type Truth interface {
	Standings(ctx context.Context, board scoreboard.BoardID, size int, do func([]scoreboard.Change) error) error
	NextEpoch(ctx context.Context) (int64, error)
	// HistorySince is from when on the store's history counts, or zero: what
	// was recorded before and is not in the store is lost and must stay so.
	HistorySince(ctx context.Context) (time.Time, error)
}

// Ranking is what is rebuilt.
type Ranking interface {
	Mark(ctx context.Context, board scoreboard.BoardID, token string) (bool, error)
	Fence(ctx context.Context, board scoreboard.BoardID, token string, since time.Time) error
	Fill(ctx context.Context, board scoreboard.BoardID, token string, changes []scoreboard.Change) error
	Swap(ctx context.Context, board *scoreboard.Board, token string, least, epoch int64, updated time.Time) (int64, error)
	Unmark(ctx context.Context, board scoreboard.BoardID, token string) error
	Lost(ctx context.Context, boards []scoreboard.Board) (cold, suspect []scoreboard.Board, err error)
	Loaded(ctx context.Context, boards []scoreboard.Board) ([]scoreboard.Board, error)
	Drop(ctx context.Context, board scoreboard.BoardID) error
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
// another rebuild of the board is under way. Interrupted, it leaves nothing.
func Rebuild(ctx context.Context, truth Truth, ranking Ranking, board *scoreboard.Board, progress func(users int64)) (*Rebuilt, error) {
	started := time.Now()
	token := rand.Text()
	marked, err := ranking.Mark(ctx, board.ID, token)
	if err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	if !marked {
		return nil, scoreboard.Errorf(scoreboard.CodeConflict, "board %s is being rebuilt already", board.ID)
	}
	done, err := fill(ctx, truth, ranking, board, token, progress)
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		// Where Redis is away the shadow expires by itself.
		return nil, errors.Join(fmt.Errorf("rebuild: %w", err), ranking.Unmark(ctx, board.ID, token))
	}
	done.Took = time.Since(started)
	return done, nil
}

func fill(ctx context.Context, truth Truth, ranking Ranking, board *scoreboard.Board, token string, progress func(int64)) (*Rebuilt, error) {
	since, err := truth.HistorySince(ctx)
	if err != nil {
		return nil, err
	}
	if !since.IsZero() {
		if err := ranking.Fence(ctx, board.ID, token, since); err != nil {
			return nil, err
		}
	}
	updated, filled := board.Created, int64(0)
	err = truth.Standings(ctx, board.ID, chunk, func(states []scoreboard.Change) error {
		for i := range states {
			if states[i].RecordedAt.After(updated) {
				updated = states[i].RecordedAt
			}
		}
		filled += int64(len(states))
		progress(filled)
		return ranking.Fill(ctx, board.ID, token, states)
	})
	if err != nil {
		return nil, err
	}
	epoch, err := truth.NextEpoch(ctx)
	if err != nil {
		return nil, err
	}
	users, err := ranking.Swap(ctx, board, token, filled, epoch, updated)
	if err != nil {
		return nil, err
	}
	return &Rebuilt{Board: board.ID, Epoch: epoch, Users: users}, nil
}
