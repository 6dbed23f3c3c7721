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
	// AsOf returns the time before which every change is applied; zero while that is unknown.
	AsOf(ctx context.Context) (time.Time, error)
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
	// waits reports that the ranking lacks only changes that it need not have yet, since Kafka or the
	// relay does not work.
	waits bool
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
	var asOf time.Time
	for try := 0; ; try++ {
		var err error
		if try == retries {
			// Before the states: what they lack was not applied when this was read.
			if asOf, err = ranking.AsOf(ctx); err != nil {
				return nil, err
			}
		}
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
				drifted, again = append(drifted, newDrift(c, ranked[i], asOf)), append(again, user)
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

// newDrift returns the difference of a user. asOf is the time before which the ranking has every change;
// zero while that is unknown.
func newDrift(stored scoreboard.Change, ranked scoreboard.RankedState, asOf time.Time) drift {
	return drift{
		stored: stored, ranked: ranked,
		waits: ranked.Revision < stored.Revision && !asOf.IsZero() && stored.RecordedAt.After(asOf),
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

func (d *drift) describe() string {
	keys := func(key, subKey int64) string {
		if d.stored.SubKey == 0 && d.ranked.SubKey == 0 {
			return fmt.Sprintf("key %d", key)
		}
		return fmt.Sprintf("keys %d and %d", key, subKey)
	}
	return fmt.Sprintf("the store has %s revision %d, the ranking %s revision %d (ranked: %t)",
		keys(d.stored.Key, d.stored.SubKey), d.stored.Revision,
		keys(d.ranked.Key, d.ranked.SubKey), d.ranked.Revision, d.ranked.Ranked)
}
