package upkeep

import (
	"context"
	"errors"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// PersonalData is the store of users' personal data.
type PersonalData interface {
	UnfinishedErasures(ctx context.Context, before time.Time, limit int) ([]scoreboard.ErasedUser, error)
	FinishedErasures(ctx context.Context, before time.Time, limit int) ([]scoreboard.ErasedUser, error)
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

// erasedUsers is the number of erased users handled in one run.
const erasedUsers = 100

// Cleanup completes interrupted erasures and deletes expired tombstones, addresses and undo
// records.
func (w *Moderation) Cleanup(ctx context.Context) error {
	return errors.Join(
		w.completeErasures(ctx), w.deleteTombstones(ctx), w.deleteAddresses(ctx), w.voids.DeleteOldVoidEvents(ctx),
	)
}

// completeErasures continues erasures whose request ended before they did. One that fails
// does not delay the others.
func (w *Moderation) completeErasures(ctx context.Context) error {
	// Younger ones may still be running in their request.
	erased, err := w.personal.UnfinishedErasures(ctx, time.Now().Add(-time.Minute), erasedUsers)
	for _, e := range erased {
		err = errors.Join(err, w.completeErasure(ctx, e))
	}
	return err
}

func (w *Moderation) completeErasure(ctx context.Context, e scoreboard.ErasedUser) error {
	for {
		n, err := w.personal.EraseStep(ctx, e.User, e.Anonymous)
		if err != nil || n == 0 {
			return err
		}
		w.steps.Inc()
	}
}

// deleteTombstones deletes the tombstones of erased users once nothing that the user may
// have submitted can count any more.
func (w *Moderation) deleteTombstones(ctx context.Context) error {
	erased, err := w.personal.FinishedErasures(ctx, time.Now().Add(-w.window.Tombstone()), erasedUsers)
	for _, e := range erased {
		err = errors.Join(err, w.deleteTombstone(ctx, e.User))
	}
	return err
}

// deleteTombstone deletes a user's tombstones from the rankings first, because only the
// store knows which ones exist.
func (w *Moderation) deleteTombstone(ctx context.Context, user scoreboard.UserID) error {
	boards, err := w.personal.Tombstones(ctx, user)
	if err != nil {
		return err
	}
	for board := range boards {
		if err := w.unrank(ctx, board, user); err != nil {
			return err
		}
	}
	return w.personal.DeleteErasedName(ctx, user)
}

// unrank removes a user from a board's ranking if the board is loaded.
func (w *Moderation) unrank(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) error {
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
func (w *Moderation) deleteAddresses(ctx context.Context) error {
	retention := w.addresses()
	for started := time.Now(); retention > 0 && time.Since(started) < moderationPass; {
		more, err := w.personal.DeleteOldAddresses(ctx, retention)
		if err != nil || !more {
			return err
		}
	}
	return nil
}
