package realtime_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// league has circles as cohorts: a user who is in none of them, not even alone, has no cohort.
type league struct {
	*circles
	cohort int64
}

func (l *league) ReadCohort(
	ctx context.Context, id scoreboard.BoardID, user scoreboard.UserID,
) (*scoreboard.CohortList, error) {
	l.mu.Lock()
	_, placed := l.friends[user]
	l.mu.Unlock()
	list, err := l.ReadFriends(ctx, id, user)
	out := &scoreboard.CohortList{List: *list}
	if placed {
		out.Cohort, out.Division = l.cohort, 2
		for i := range out.Entries {
			out.Entries[i].Rank = int64(i) + 1
		}
		return out, err
	}
	out.Entries, out.Missing = nil, []scoreboard.UserID{user}
	return out, err
}

// inCohort reads up to the next cohort, as "id: #rank user score, …".
func (w *watcher) inCohort() string {
	w.t.Helper()
	for {
		if f := w.frame(); f.Type == wire.MessageCohort {
			return cohortIn(f)
		}
	}
}

func cohortIn(f wire.Message) string {
	if f.Cohort == nil {
		return "none"
	}
	text := fmt.Sprint(f.Cohort.ID, ": ")
	for _, e := range f.Cohort.Entries {
		text += fmt.Sprintf("#%d %s %d, ", e.Rank, e.UserID, e.Score)
	}
	return text
}

// A player follows the cohort, beside the friends: on connect, when a member moves, and when the player takes a
// place. The moves of others cost nothing, and nobody else is told.
func TestCohortInStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &league{&circles{ranking: newRanking("global")}, 4711}
		l.set("global", manyUsers(150))
		r := startInMemory(t, realtime.Options{}, l.circles)
		r.hub.Cohorts = l
		w := r.dial("user=newcomer&cohort=1")
		if got := w.inCohort(); got != "none" {
			t.Errorf("before a submission: got %q, want none", got)
		}
		for _, without := range []*watcher{r.dial("user=u121"), r.dial("cohort=1")} {
			without.expect(wire.MessageUpdated)
			without.quiet(time.Second)
		}
		l.befriend("newcomer", "u120", "u130")
		r.hub.Notify(l.set("global", of{"newcomer": 1}))
		const first = "4711: #1 u120 30000, #2 u130 20000, #3 newcomer 1, "
		if got := w.inCohort(); got != first {
			t.Errorf("after the first submission: got %q, want %q", got, first)
		}
		r.hub.Notify(l.set("global", of{"u130": 30_500}))
		if got, want := w.inCohort(), "4711: #1 u130 30500, #2 u120 30000, #3 newcomer 1, "; got != want {
			t.Errorf("after a member moved: got %q, want %q", got, want)
		}
		before := l.reads()
		for i := range 20 {
			r.hub.Notify(l.set("global", of{"u140": scoreboard.Score(100 + i)}))
			time.Sleep(100 * time.Millisecond)
		}
		if got := l.reads(); got != before {
			t.Errorf("%d reads because others moved", got-before)
		}
		// At most one state per window, however often members move.
		for i := range 50 {
			r.hub.Notify(l.set("global", of{"u130": scoreboard.Score(31_000 + i)}))
		}
		time.Sleep(3 * time.Second)
		if got := l.reads() - before; got > 5 {
			t.Errorf("%d reads for 50 moves at once", got)
		}
		const last = "4711: #1 u130 31049, #2 u120 30000, #3 newcomer 1, "
		for got := ""; got != last; got = w.inCohort() {
		}
	})
}
