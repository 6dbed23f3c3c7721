package repair

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// RebuildSource is the store that boards are rebuilt from.
type RebuildSource interface {
	Standings(
		ctx context.Context, board scoreboard.BoardID, size int, do func([]scoreboard.Change) error,
	) (asOf time.Time, err error)
	// NextEpoch returns an epoch greater than above, which no board has used.
	NextEpoch(ctx context.Context, above int64) (int64, error)
	// HistorySince returns when the store's history was adopted, or zero.
	// Changes recorded earlier that are not in the store by then are lost and must
	// not come back.
	HistorySince(ctx context.Context) (time.Time, error)
	// Partitions returns over how many keys a board is to be spread, read now.
	Partitions(ctx context.Context, board scoreboard.BoardID) (int, error)
}

// RebuildTarget is the ranking that is rebuilt.
type RebuildTarget interface {
	Claim(ctx context.Context, board *scoreboard.Board, token string) (bool, error)
	Fence(ctx context.Context, board scoreboard.BoardID, token string, since time.Time) error
	Fill(ctx context.Context, board scoreboard.BoardID, token string, changes []scoreboard.Change) error
	Epoch(ctx context.Context, board *scoreboard.Board) (int64, error)
	Swap(ctx context.Context, board *scoreboard.Board, token string, s *scoreboard.Snapshot) (int64, error)
	Release(ctx context.Context, board scoreboard.BoardID, token string) error
	// Unhealthy returns an error also where it concerns some boards only, which it counts.
	Unhealthy(ctx context.Context, boards []scoreboard.Board) (
		notLoaded, suspect []scoreboard.Board, unknown int, err error,
	)
	Loaded(ctx context.Context, boards []scoreboard.Board) ([]scoreboard.Board, error)
	Drop(ctx context.Context, board *scoreboard.Board) error
	// RemoveUnused removes what an interrupted rebuild has left of boards.
	RemoveUnused(ctx context.Context, boards []scoreboard.Board) error
}

// chunkSize is the number of users read and written at once.
const chunkSize = 1000

// RebuildResult is the outcome of a rebuild.
type RebuildResult struct {
	Board   scoreboard.BoardID
	Epoch   int64
	Users   int64 // ranked
	Elapsed time.Duration
}

// Rebuild rebuilds a board's ranking from the store while the board stays
// online. It returns CodeConflict if another rebuild of the board is running.
// An interrupted rebuild leaves nothing behind.
func Rebuild(
	ctx context.Context,
	store RebuildSource,
	ranking RebuildTarget,
	board *scoreboard.Board,
	progress func(users int64),
) (*RebuildResult, error) {
	started := time.Now()
	partitions, err := store.Partitions(ctx, board.ID) // another process may have changed it
	if err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	if partitions != board.Partitions {
		changed := *board
		changed.Partitions = partitions
		board = &changed
	}
	token := rand.Text()
	claimed, err := ranking.Claim(ctx, board, token)
	if err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	if !claimed {
		return nil, scoreboard.Errorf(wire.CodeConflict, "board %s is already being rebuilt", board.ID)
	}
	done, err := fillAndSwap(ctx, store, ranking, board, token, progress)
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		// If Redis is unreachable, the shadow expires.
		return nil, errors.Join(fmt.Errorf("rebuild: %w", err), ranking.Release(ctx, board.ID, token))
	}
	done.Elapsed = time.Since(started)
	return done, nil
}

func fillAndSwap(
	ctx context.Context,
	store RebuildSource,
	ranking RebuildTarget,
	board *scoreboard.Board,
	token string,
	progress func(int64),
) (*RebuildResult, error) {
	since, err := store.HistorySince(ctx)
	if err != nil {
		return nil, err
	}
	if !since.IsZero() {
		if err := ranking.Fence(ctx, board.ID, token, since); err != nil {
			return nil, err
		}
	}
	read := scoreboard.Snapshot{UpdatedAt: board.Created}
	read.AsOf, err = store.Standings(ctx, board.ID, chunkSize, func(states []scoreboard.Change) error {
		for i := range states {
			if states[i].RecordedAt.After(read.UpdatedAt) {
				read.UpdatedAt = states[i].RecordedAt
			}
		}
		read.Users += int64(len(states))
		progress(read.Users)
		return ranking.Fill(ctx, board.ID, token, states)
	})
	if err != nil {
		return nil, err
	}
	before, err := ranking.Epoch(ctx, board)
	if err != nil {
		return nil, err
	}
	if read.Epoch, err = store.NextEpoch(ctx, before); err != nil {
		return nil, err
	}
	users, err := ranking.Swap(ctx, board, token, &read)
	if err != nil {
		return nil, err
	}
	return &RebuildResult{Board: board.ID, Epoch: read.Epoch, Users: users}, nil
}
