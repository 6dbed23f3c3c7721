package moderation

import (
	"context"
	"errors"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// PersonalData is the store of users' personal data.
type PersonalData interface {
	ErasedUsers(ctx context.Context, before time.Time, limit int) ([]scoreboard.ErasedUser, error)
	EraseStep(ctx context.Context, user, anonymous scoreboard.UserID) (int64, error)
	Tombstones(ctx context.Context, user scoreboard.UserID) (map[scoreboard.BoardID]int64, error)
	DeleteErasedName(ctx context.Context, user scoreboard.UserID) error
	DeleteOldAddresses(ctx context.Context, retention time.Duration) (more bool, err error)
}

// Ranking may contain erased users.
type Ranking interface {
	States(ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID) ([]scoreboard.RankedState, error)
	Repair(ctx context.Context, stored *scoreboard.Change, wrong scoreboard.RankedState) (bool, error)
}

// batchSize is the number of erased users handled in one run.
const batchSize = 100

// Cleanup completes interrupted erasures and deletes expired tombstones,
// addresses and undo records.
func (w *Worker) Cleanup(ctx context.Context) error {
	return errors.Join(
		w.completeErasures(ctx), w.deleteTombstones(ctx), w.deleteAddresses(ctx), w.voids.DeleteOldVoidEvents(ctx),
	)
}

// completeErasures continues erasures whose request ended before they did.
func (w *Worker) completeErasures(ctx context.Context) error {
	// Younger ones may still be running in their request.
	erased, err := w.personal.ErasedUsers(ctx, time.Now().Add(-time.Minute), batchSize)
	if err != nil {
		return err
	}
	for _, e := range erased {
		for n := int64(1); e.Unfinished && n > 0; {
			if n, err = w.personal.EraseStep(ctx, e.User, e.Anonymous); err != nil {
				return err
			}
			w.steps.Inc()
		}
	}
	return nil
}

// deleteTombstones deletes the tombstones of erased users: from the ranking
// first, because only the store knows which ones exist.
func (w *Worker) deleteTombstones(ctx context.Context) error {
	erased, err := w.personal.ErasedUsers(ctx, time.Now().Add(-scoreboard.ErasureTime), batchSize)
	if err != nil {
		return err
	}
	for _, e := range erased {
		boards, err := w.personal.Tombstones(ctx, e.User)
		if err != nil {
			return err
		}
		for board := range boards {
			if err := w.unrank(ctx, board, e.User); err != nil {
				return err
			}
		}
		if err := w.personal.DeleteErasedName(ctx, e.User); err != nil {
			return err
		}
	}
	return nil
}

// unrank removes a user from a board's ranking if the board is loaded.
func (w *Worker) unrank(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) error {
	states, err := w.ranking.States(ctx, board, []scoreboard.UserID{user})
	if err == nil && states[0].Raw != "" {
		_, err = w.ranking.Repair(ctx, &scoreboard.Change{Board: board, User: user}, states[0])
	}
	if errors.Is(err, scoreboard.ErrNotLoaded) {
		return nil
	}
	return err
}

// deleteAddresses deletes addresses older than the retention.
func (w *Worker) deleteAddresses(ctx context.Context) error {
	retention := w.addresses()
	for started := time.Now(); retention > 0 && time.Since(started) < maxRun; {
		more, err := w.personal.DeleteOldAddresses(ctx, retention)
		if err != nil || !more {
			return err
		}
	}
	return nil
}
