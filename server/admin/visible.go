package admin

import (
	"context"
	"errors"
	"time"

	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Visible waits until a change of the users on boards is visible: every ranking shows it, and
// every node's cached standings have expired. After visibleTimeout the change is pending.
type Visible struct {
	Ranking  *ranking.Ranking
	CacheTTL time.Duration // how long a node may serve a cached standing
}

const visibleTimeout, visiblePoll = 2 * time.Second, 10 * time.Millisecond

// await waits until readers see that the scores of a user were hidden or shown, by board with
// their new revisions. pending is that some do not: the projection applies it later.
func (v Visible) await(
	ctx context.Context, user scoreboard.UserID, moved map[scoreboard.BoardID]int64,
) (pending bool) {
	if len(moved) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, visibleTimeout)
	defer cancel()
	tick := time.NewTicker(visiblePoll)
	defer tick.Stop()
	for !v.ranked(ctx, user, moved) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return true
		}
	}
	select {
	case <-time.After(v.CacheTTL):
	case <-ctx.Done():
	}
	return false
}

// ranked reports whether every ranking has reached the revisions that moved. A ranking that is
// not loaded counts: it will be built from the store.
func (v Visible) ranked(
	ctx context.Context, user scoreboard.UserID, moved map[scoreboard.BoardID]int64,
) bool {
	for board, revision := range moved {
		kept, err := v.Ranking.States(ctx, board, []scoreboard.UserID{user})
		if err != nil && !errors.Is(err, scoreboard.ErrNotLoaded) || err == nil && kept[0].Revision < revision {
			return false
		}
		delete(moved, board)
	}
	return true
}
