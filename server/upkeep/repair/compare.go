package repair

import (
	"context"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// StoreStates reads users' scores from PostgreSQL.
type StoreStates interface {
	States(ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID) ([]scoreboard.Change, error)
}

// RankedStates reads users' states from the ranking and repairs them.
type RankedStates interface {
	States(ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID) ([]scoreboard.RankedState, error)
	Repair(ctx context.Context, stored *scoreboard.Change, wrong scoreboard.RankedState) (bool, error)
}

// How long the pipeline gets to bring the ranking up to date before a
// difference counts as drift.
const (
	driftRetries    = 4
	driftRetryPause = 500 * time.Millisecond
)

// drift is a user whose state in the ranking differs from the store and does
// not catch up.
type drift struct {
	stored scoreboard.Change // Revision 0: no score in the store
	ranked scoreboard.RankedState
}

// findDrift returns the users that still differ after the retries. It reads the
// ranking before the store, so a ranking that is late, or ahead of an old
// snapshot, converges.
func findDrift(
	ctx context.Context,
	store StoreStates,
	ranking RankedStates,
	board scoreboard.BoardID,
	users []scoreboard.UserID,
	retries int,
) ([]drift, error) {
	var drifted []drift
	target := make(map[scoreboard.UserID]int64) // the store's revision when each user was first read
	for try := 0; ; try++ {
		ranked, err := ranking.States(ctx, board, users)
		if err != nil {
			return nil, err
		}
		found, err := store.States(ctx, board, users)
		if err != nil {
			return nil, err
		}
		stored := make(map[scoreboard.UserID]scoreboard.Change, len(found))
		for _, c := range found {
			stored[c.User] = c
		}
		drifted = drifted[:0]
		var again []scoreboard.UserID
		for i, user := range users {
			c, ok := stored[user]
			if !ok {
				c = scoreboard.Change{Type: scoreboard.ChangeScore, Board: board, User: user}
			}
			if _, seen := target[user]; !seen {
				target[user] = c.Revision
			}
			// The ranking of a user who keeps scoring never catches up, but it advances.
			advancing := try > 0 && ranked[i].Revision >= target[user] && ranked[i].Revision < c.Revision
			if !ranked[i].Agrees(&c) && !advancing {
				drifted, again = append(drifted, drift{c, ranked[i]}), append(again, user)
			}
		}
		if len(again) == 0 || try == retries {
			return drifted, nil
		}
		users = again
		select {
		case <-time.After(driftRetryPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// kind classifies the difference.
func (d *drift) kind() string {
	switch {
	case d.stored.Revision == 0:
		return "not_in_store"
	case d.ranked.Raw == "":
		return "not_in_ranking"
	case d.ranked.Revision < d.stored.Revision:
		return "behind"
	case d.ranked.Revision > d.stored.Revision:
		return "ahead"
	}
	return "other"
}

// waits reports whether the ranking lacks a change of the user that it need not have yet: asOf is the time
// before which it has all.
func (d *drift) waits(asOf time.Time) bool {
	return d.ranked.Revision < d.stored.Revision && !asOf.IsZero() && d.stored.RecordedAt.After(asOf)
}

func (d *drift) describe() string {
	return fmt.Sprintf("the store has key %d revision %d, the ranking key %d revision %d (ranked: %t)",
		d.stored.Key, d.stored.Revision, d.ranked.Key, d.ranked.Revision, d.ranked.Ranked)
}
