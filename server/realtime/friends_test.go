package realtime_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// circles are the friends of users whose standings come from a ranking.
type circles struct {
	*ranking
	mu      sync.Mutex
	friends map[scoreboard.UserID][]scoreboard.UserID
	lists   int           // reads of them
	took    time.Duration // by a read, after which it answers what was then
}

func (c *circles) befriend(user scoreboard.UserID, friends ...scoreboard.UserID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.friends == nil {
		c.friends = make(map[scoreboard.UserID][]scoreboard.UserID)
	}
	c.friends[user] = friends
}

func (c *circles) ReadFriends(
	_ context.Context, id scoreboard.BoardID, user scoreboard.UserID,
) (*scoreboard.List, error) {
	c.mu.Lock()
	users := append([]scoreboard.UserID{user}, c.friends[user]...)
	c.lists++
	took := c.took
	c.mu.Unlock()
	defer time.Sleep(took)
	c.ranking.mu.Lock()
	defer c.ranking.mu.Unlock()
	b := c.boards[id]
	l := &scoreboard.List{Board: b.instance, Epoch: b.epoch, Version: b.version, AsOf: time.Now(), Degraded: c.reason}
	for _, e := range b.ranked() {
		if slices.Contains(users, e.User) {
			l.Entries = append(l.Entries, e)
		}
	}
	for _, u := range users {
		if _, on := b.of[u]; !on {
			l.Missing = append(l.Missing, u)
		}
	}
	return l, c.err
}

func (c *circles) reads() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists
}

// friends reads up to the next list of friends, as "place. user #rank score, …".
func (w *watcher) friends() string {
	w.t.Helper()
	for {
		if f := w.frame(); f.Type == wire.MessageFriends {
			return friendsIn(f)
		}
	}
}

func friendsIn(f wire.Message) (text string) {
	for _, e := range f.Friends {
		text += fmt.Sprintf("%d. %s #%d %d, ", e.ListRank, e.UserID, e.Rank, e.Score)
	}
	return text
}

func TestFriendsInStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &circles{ranking: newRanking("global")}
		c.set("global", manyUsers(150)) // u099 is the last of the top 100
		c.befriend("u120", "u130", "u000", "newcomer")
		r := startInMemory(t, realtime.Options{}, c)
		r.hub.ShowFriends(c)
		w, phone := r.dial("user=u120&friends=1"), r.dial("user=u120&friends=1")
		for _, without := range []*watcher{r.dial("user=u121"), r.dial("friends=1")} {
			without.expect(wire.MessageUpdated)
			without.quiet(time.Second)
		}
		const first = "1. u000 #1 150000, 2. u120 #121 30000, 3. u130 #131 20000, "
		for _, each := range []*watcher{w, phone} {
			if got := each.friends(); got != first {
				t.Errorf("the first list: got %q, want %q", got, first)
			}
		}
		// A friend below the top moves, which changes no state of the board.
		r.hub.Notify(c.set("global", of{"u130": 30_500}))
		const moved = "1. u000 #1 150000, 2. u130 #121 30500, 3. u120 #122 30000, "
		if got := w.friends(); got != moved {
			t.Errorf("after a friend moved: got %q, want %q", got, moved)
		}
		// A friend without a score gets one.
		r.hub.Notify(c.set("global", of{"newcomer": 1}))
		if got, want := w.friends(), moved+"4. newcomer #151 1, "; got != want {
			t.Errorf("after a friend came: got %q, want %q", got, want)
		}
		// The moves of others cost nothing.
		before := c.reads()
		for i := range 20 {
			r.hub.Notify(c.set("global", of{"u140": scoreboard.Score(100 + i)}))
			time.Sleep(100 * time.Millisecond)
		}
		if got := c.reads(); got != before {
			t.Errorf("%d reads because others moved", got-before)
		}
		// Friends that are lost, and found, show within half a minute.
		c.befriend("u120", "u001")
		_ = w.ws.SetReadDeadline(time.Now().Add(32 * time.Second))
		_, data, err := w.ws.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := friendsIn(decode(t, data)), "1. u001 #2 149000, 2. u120 #122 30000, "; got != want {
			t.Errorf("after the friends changed: got %q, want %q", got, want)
		}
		r.hub.Notify(c.set("global", of{"u130": 7}))
		w.quiet(2 * time.Second)
	})
}

// While the ranking is down no list is sent, and afterwards the current one.
func TestFriendsAfterOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &circles{ranking: newRanking("global")}
		c.set("global", of{"ada": 5, "bob": 9})
		c.befriend("ada", "bob")
		r := startInMemory(t, realtime.Options{}, c)
		r.hub.ShowFriends(c)
		w := r.dial("user=ada&friends=1")
		w.friends()
		c.edit(func() { c.reason = "ranking_unavailable" })
		if f := w.expect(wire.MessageUpdated); !f.Degraded {
			t.Fatalf("got %+v, want a degraded state", f)
		}
		n := c.set("global", of{"ada": 10})
		r.hub.Notify(scoreboard.Notice{Board: "global", Moved: n.Moved})
		time.Sleep(5 * time.Second)
		c.edit(func() { c.reason = "" })
		if got, want := w.friends(), "1. ada #1 10, 2. bob #2 9, "; got != want {
			t.Errorf("after the outage: got %q, want %q", got, want)
		}
	})
}

// Reads of friends are bounded, however many of them move.
func TestFriendLookupsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &circles{ranking: newRanking("global")}
		c.set("global", manyUsers(150))
		r := startInMemory(t, realtime.Options{FriendLookups: 20}, c)
		r.hub.ShowFriends(c)
		const viewers = 30
		for i := range viewers {
			c.befriend(user(i), "u149")
			r.dial("friends=1&" + query("user", string(user(i)))).friends()
		}
		before, began := c.reads(), time.Now()
		for i := range 100 {
			r.hub.Notify(c.set("global", of{"u149": scoreboard.Score(i)}))
			time.Sleep(50 * time.Millisecond)
		}
		got, limit := c.reads()-before, int(20*time.Since(began)/time.Second)+2
		if got > limit || got < limit/2 {
			t.Errorf("%d reads in %s for %d viewers, want up to %d", got, time.Since(began), viewers, limit)
		}
	})
}

// Viewers who leave a board and join it again and again do not delay the friends of others: what
// nobody waits for is not read.
func TestRejoiningDelaysNoOthersFriends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &circles{ranking: newRanking("global")}
		c.set("global", manyUsers(20))
		r := startInMemory(t, realtime.Options{FriendLookups: 10}, c)
		r.hub.ShowFriends(c)
		var restless []*watcher
		for i := range 8 {
			restless = append(restless, r.dial("friends=1&"+query("user", string(user(i)))))
		}
		for range 25 {
			for _, w := range restless {
				w.send(`{"type":"unsubscribe","board":"global"}`)
				w.send(`{"type":"subscribe","board":"global"}`)
			}
			time.Sleep(400 * time.Millisecond)
		}
		c.befriend(user(15), user(16))
		began := time.Now()
		r.dial("friends=1&" + query("user", string(user(15)))).friends()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the friends of another user came after %s, want them within 2 s", took)
		}
		for _, w := range restless {
			w.send(`{"type":"unsubscribe","board":"global"}`)
		}
		time.Sleep(time.Second) // for what is read already
		before := c.reads()
		time.Sleep(10 * time.Second)
		if late := c.reads() - before; late > 0 {
			t.Errorf("%d lists were read after their viewers had left", late)
		}
	})
}

// A user who follows many boards waits longer than one who follows one board.
func TestViewersTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := make([]scoreboard.BoardID, 10)
		for i := range boards {
			boards[i] = scoreboard.BoardID(fmt.Sprintf("b%d", i))
		}
		c := &circles{ranking: newRanking(boards...)}
		for _, b := range boards {
			c.set(b, manyUsers(5))
		}
		r := startInMemory(t, realtime.Options{FriendLookups: 10}, c)
		r.hub.ShowFriends(c)
		for _, b := range boards {
			for i := range 4 {
				r.dial("friends=1&" + query("user", string(user(i)), "board", string(b)))
			}
		}
		began := time.Now()
		r.dial("friends=1&" + query("user", string(user(4)), "board", "b0")).friends()
		if took := time.Since(began); took > time.Second {
			t.Errorf("the friends of a user of one board came after %s, want them within a second", took)
		}
	})
}

// A friend, a member of the cohort or the viewer moves while they are looked up: the next look-up follows at once.
func TestMovesDuringALookUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &league{circles: &circles{ranking: newRanking("global")}, cohort: 1}
		l.set("global", manyUsers(150))
		l.place("u120", "u130")
		r := startInMemory(t, realtime.Options{}, l.circles)
		r.hub.ShowFriends(l)
		r.hub.Cohorts = l
		w := r.dial("user=u120&friends=1&cohort=1")
		time.Sleep(time.Second)
		l.mu.Lock()
		l.took = 500 * time.Millisecond
		l.mu.Unlock()
		l.edit(func() { l.tookPlaces = 500 * time.Millisecond })
		notify := func(user scoreboard.UserID, score scoreboard.Score) {
			r.hub.Notify(l.set("global", of{user: score}))
		}
		notify("u130", 30_500)
		notify("u120", 30_100)
		time.Sleep(400 * time.Millisecond) // the look-ups have begun
		notify("u130", 30_501)
		notify("u120", 30_101)
		var friends, cohort string
		var own int64
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
			_ = w.ws.SetReadDeadline(end)
			_, data, err := w.ws.ReadMessage()
			if err != nil {
				break
			}
			switch f := decode(t, data); f.Type {
			case wire.MessageFriends:
				friends = friendsIn(f)
			case wire.MessageCohort:
				cohort = cohortIn(f)
			case wire.MessageRank:
				own = *f.Score
			}
		}
		if want := "1. u130 #121 30501, 2. u120 #122 30101, "; friends != want {
			t.Errorf("friends: got %q, want %q", friends, want)
		}
		if want := "1: #1 u130 30501, #2 u120 30101, "; cohort != want {
			t.Errorf("the cohort: got %q, want %q", cohort, want)
		}
		if own != 30_101 {
			t.Errorf("the own score: got %d, want 30101", own)
		}
	})
}
