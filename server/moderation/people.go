package moderation

import (
	"context"
	"errors"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// People is what is kept about persons.
type People interface {
	ErasedUsers(ctx context.Context, before time.Time, limit int) ([]scoreboard.Erased, error)
	EraseStep(ctx context.Context, user, anonymous scoreboard.UserID) (int64, error)
	Tombstones(ctx context.Context, user scoreboard.UserID) (map[scoreboard.BoardID]int64, error)
	ForgetErased(ctx context.Context, user scoreboard.UserID) error
	ForgetAddresses(ctx context.Context, keep time.Duration) (more bool, err error)
}

// Ranking keeps tombstones, too.
type Ranking interface {
	States(ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID) ([]scoreboard.RankedState, error)
	Repair(ctx context.Context, truth *scoreboard.Change, wrong scoreboard.RankedState) (bool, error)
}

// atOnce is how many erased users one look takes.
const atOnce = 100

// Tidy finishes erasures that their caller has left, forgets names whose time
// is over, old addresses and what can no longer be undone.
func (w *Worker) Tidy(ctx context.Context) error {
	return errors.Join(w.finish(ctx), w.forgetNames(ctx), w.forgetAddresses(ctx), w.voids.ForgetVoids(ctx))
}

func (w *Worker) finish(ctx context.Context) error {
	// Whoever began one a moment ago is at it.
	erased, err := w.people.ErasedUsers(ctx, time.Now().Add(-time.Minute), atOnce)
	if err != nil {
		return err
	}
	for _, e := range erased {
		for n := int64(1); e.Unfinished && n > 0; {
			if n, err = w.people.EraseStep(ctx, e.User, e.Anonymous); err != nil {
				return err
			}
			w.steps.Inc()
		}
	}
	return nil
}

// forgetNames removes tombstones: from the ranking first, because afterwards
// nobody knows any more that there is one.
func (w *Worker) forgetNames(ctx context.Context) error {
	erased, err := w.people.ErasedUsers(ctx, time.Now().Add(-scoreboard.ErasureTime), atOnce)
	if err != nil {
		return err
	}
	for _, e := range erased {
		boards, err := w.people.Tombstones(ctx, e.User)
		if err != nil {
			return err
		}
		for board := range boards {
			if err := w.unrank(ctx, board, e.User); err != nil {
				return err
			}
		}
		if err := w.people.ForgetErased(ctx, e.User); err != nil {
			return err
		}
	}
	return nil
}

// unrank removes a user from a board's ranking, which may not be held at all.
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

func (w *Worker) forgetAddresses(ctx context.Context) error {
	keep := w.addresses()
	for started := time.Now(); keep > 0 && time.Since(started) < turnLength; {
		more, err := w.people.ForgetAddresses(ctx, keep)
		if err != nil || !more {
			return err
		}
	}
	return nil
}
