package realtime_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	cohort    int64
	questions int // for those without a cohort
}

// place makes users a cohort.
func (l *league) place(users ...scoreboard.UserID) {
	for i, user := range users {
		l.befriend(user, slices.Concat(users[:i], users[i+1:])...)
	}
}

func (l *league) ReadCohort(
	ctx context.Context, id scoreboard.BoardID, user scoreboard.UserID,
) (*scoreboard.CohortList, error) {
	l.mu.Lock()
	others, placed := l.friends[user]
	l.mu.Unlock()
	list, err := l.ReadFriends(ctx, id, user)
	out := &scoreboard.CohortList{List: *list, Members: append([]scoreboard.UserID{user}, others...)}
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

func (l *league) WithoutCohort(
	_ context.Context, id scoreboard.BoardID, users []scoreboard.UserID,
) (period scoreboard.BoardID, none []scoreboard.UserID, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.questions++
	for _, user := range users {
		if _, placed := l.friends[user]; !placed {
			none = append(none, user)
		}
	}
	return id, none, nil
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
		l := &league{circles: &circles{ranking: newRanking("global")}, cohort: 4711}
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

// The viewers of a cohort share its look-ups: one when they come, and one for each window in which members move. When
// the one who leads them leaves, is placed elsewhere or hides, the others miss nothing.
func TestCohortsAreLookedUpOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &league{circles: &circles{ranking: newRanking("global")}, cohort: 1}
		l.set("global", manyUsers(150))
		r := startInMemory(t, realtime.Options{
			ConnectionsPerAddress: 1000, JoinsPerSecond: 1000, FriendLookups: 10, // one in each interval
		}, l.circles)
		r.hub.Cohorts = l
		name := func(i int) scoreboard.UserID { return scoreboard.UserID(fmt.Sprintf("u%03d", i)) }
		var cohorts [4][]scoreboard.UserID
		watchers := make(map[scoreboard.UserID]*watcher)
		for i := range 80 {
			cohorts[i%4] = append(cohorts[i%4], name(i))
		}
		for _, users := range cohorts {
			l.place(users...)
		}
		for i := range 80 {
			watchers[name(i)] = r.dial("cohort=1&user=" + string(name(i)))
		}
		all := func(users []scoreboard.UserID, what string, check func(scoreboard.UserID, string) bool) {
			t.Helper()
			for _, user := range users {
				if got := watchers[user].inCohort(); !check(user, got) {
					t.Errorf("%s: %s got %q", what, user, got)
				}
			}
		}
		for _, users := range cohorts {
			all(users, "on connect", func(user scoreboard.UserID, got string) bool {
				return strings.Contains(got, string(user)+" ") && strings.Count(got, "#") == 20
			})
		}
		if got := l.reads(); got > 16 {
			t.Errorf("%d look-ups for 80 viewers of 4 cohorts", got)
		}
		time.Sleep(2 * time.Second)
		for round := range 5 {
			before, began := l.reads(), time.Now()
			for c := range cohorts {
				r.hub.Notify(l.set("global", of{cohorts[c][0]: scoreboard.Score(200_000 + 10*round + c)}))
			}
			for c, users := range cohorts {
				all(users, "after a move", func(_ scoreboard.UserID, got string) bool {
					return strings.HasPrefix(got, fmt.Sprintf("1: #1 %s %d, ", users[0], 200_000+10*round+c))
				})
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("the last viewer was told after %s", took)
			}
			time.Sleep(2 * time.Second)
			if got := l.reads() - before; got != 4 {
				t.Errorf("%d look-ups, want one for each cohort", got)
			}
		}
		// Each viewer of the first cohort leaves in turn, also the one that leads.
		users := cohorts[0]
		for i := range 10 {
			_ = watchers[users[i]].ws.Close()
			time.Sleep(time.Second)
			r.hub.Notify(l.set("global", of{users[19]: scoreboard.Score(300_000 + i)}))
			all(users[i+1:], "after one has left", func(_ scoreboard.UserID, got string) bool {
				return strings.HasPrefix(got, fmt.Sprintf("1: #1 %s %d, ", users[19], 300_000+i))
			})
		}
		// Half of those who stay are in another cohort, as in the next period.
		l.place(users[10:15]...)
		l.place(users[15:]...)
		r.hub.Notify(l.set("global", of{users[10]: 400_000, users[15]: 400_001}))
		all(users[10:15], "in another cohort", func(_ scoreboard.UserID, got string) bool {
			return strings.Count(got, "#") == 5 && strings.Contains(got, string(users[10])+" 400000")
		})
		all(users[15:], "in another cohort", func(_ scoreboard.UserID, got string) bool {
			return strings.Count(got, "#") == 5 && strings.Contains(got, string(users[15])+" 400001")
		})
	})
}

// Viewers without a cohort are told so together, and delay those of a cohort little. Each is told of the place
// that is taken later.
func TestViewersWithoutCohort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &league{circles: &circles{ranking: newRanking("global")}, cohort: 1}
		l.set("global", manyUsers(150))
		l.place("u120", "u130")
		r := startInMemory(t, realtime.Options{
			ConnectionsPerAddress: 1000, JoinsPerSecond: 1000, FriendLookups: 10, // one in each interval
		}, l.circles)
		r.hub.Cohorts = l
		began := time.Now()
		var idle []*watcher
		for i := range 300 {
			idle = append(idle, r.dial(fmt.Sprintf("cohort=1&user=idle%d", i)))
		}
		placed := r.dial("cohort=1&user=u120")
		for _, w := range idle {
			if got := w.inCohort(); got != "none" {
				t.Errorf("got %q, want none", got)
			}
		}
		if got, want := placed.inCohort(), "1: #1 u120 30000, #2 u130 20000, "; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the last viewer was told after %s", took)
		}
		l.mu.Lock()
		if l.questions > 30 || l.lists > 10 {
			t.Errorf("%d questions and %d look-ups for 300 viewers without a cohort", l.questions, l.lists)
		}
		l.mu.Unlock()
		for i, w := range idle[:3] {
			user := scoreboard.UserID(fmt.Sprint("idle", i))
			l.place("u120", "u130", user)
			r.hub.Notify(l.set("global", of{user: 5}))
			if got := w.inCohort(); !strings.HasSuffix(got, fmt.Sprintf("#3 %s 5, ", user)) {
				t.Errorf("after a place was taken: got %q", got)
			}
		}
	})
}
