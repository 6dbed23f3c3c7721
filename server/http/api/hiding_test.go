package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// slowUsers is a store of users who are all visible to friends, and have asked bob. It answers questions
// about them when it may.
type slowUsers struct {
	UserPrivacy
	Friends
	asked   atomic.Int32
	changed atomic.Int32
	goOn    chan struct{}
	of      func(user scoreboard.UserID) // called with each question
}

func (s *slowUsers) wait(user scoreboard.UserID) {
	s.asked.Add(1)
	if s.of != nil {
		s.of(user)
	}
	<-s.goOn
}

func (s *slowUsers) Privacy(_ context.Context, user scoreboard.UserID) (scoreboard.Privacy, error) {
	s.wait(user)
	return scoreboard.Privacy{User: user, Visibility: scoreboard.VisibilityFriends}, nil
}

func (s *slowUsers) SetVisibility(
	_ context.Context, user scoreboard.UserID, to scoreboard.Visibility, _ *scoreboard.AuditEntry,
) (scoreboard.Privacy, error) {
	s.changed.Add(1)
	return scoreboard.Privacy{User: user, Visibility: to}, nil
}

func (s *slowUsers) Asked(
	_ context.Context, user scoreboard.UserID, others []scoreboard.UserID,
) (asked []scoreboard.UserID, err error) {
	s.wait(user)
	if slices.Contains(others, "bob") {
		asked = append(asked, "bob")
	}
	return asked, nil
}

func (s *slowUsers) Remove(context.Context, scoreboard.UserID, scoreboard.UserID) error {
	s.changed.Add(1)
	return nil
}

// countedFull is a limit that is used up, and counts those whom it stops.
type countedFull struct{ n atomic.Int32 }

func (l *countedFull) Take(context.Context, string) time.Duration {
	l.n.Add(1)
	return time.Minute
}

// hidingAPI is an API whose users are over their limit.
func hidingAPI(s *slowUsers) (*API, *countedFull) {
	over := &countedFull{}
	a := everything(&trail{}, func(o *Options) {
		o.Privacy, o.Friends = struct{ UserPrivacy }{s}, struct{ Friends }{s}
	})
	a.limits.Updates = Rate{Users: over, Servers: over}
	return a, over
}

func awaitThat(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

const (
	setsPrivacy   = "/v1/users/:user_id/privacy"
	endsFriend    = "/v1/users/me/friends/:user_id"
	toFriends     = `{"visibility":"friends"}`
	offTheBoards  = `{"visibility":"private"}`
	repeatsAtOnce = 400
)

// Whoever has a user's token and keeps 400 requests in flight that change nothing does not keep the
// user from hiding: the request that hides is served, the others count against the limit.
func TestRepeatsDoNotStopHiding(t *testing.T) {
	t.Parallel()
	privacy := route{method: http.MethodPut, path: setsPrivacy}
	friend := route{method: http.MethodDelete, path: endsFriend}
	for what, c := range map[string]struct {
		of             route
		repeats        func(i int) (of, body string)
		hides, hidesBy string // the user in the path, and the body
	}{
		"the same visibility": {
			privacy, func(int) (string, string) { return "ada", toFriends }, "ada", offTheBoards,
		},
		"friends that are none": {
			friend, func(i int) (string, string) { return fmt.Sprint("nobody", i), "" }, "bob", "",
		},
	} {
		s := &slowUsers{goOn: make(chan struct{})}
		a, over := hidingAPI(s)
		token := minted(t, a, "ada", "")
		var all sync.WaitGroup
		var limited atomic.Int32
		for i := range repeatsAtOnce {
			all.Go(func() {
				of, body := c.repeats(i)
				if asks(t, a, c.of, of, token, body) == http.StatusTooManyRequests {
					limited.Add(1)
				}
			})
		}
		awaitThat(t, "the repeats are in flight", func() bool { return over.n.Load() == repeatsAtOnce })
		time.Sleep(20 * time.Millisecond) // from the limit to the queue
		status := 0
		all.Go(func() { status = asks(t, a, c.of, c.hides, token, c.hidesBy) })
		awaitThat(t, "the last is in flight", func() bool { return over.n.Load() == repeatsAtOnce+1 })
		time.Sleep(20 * time.Millisecond)
		close(s.goOn)
		all.Wait()
		if status != http.StatusOK || limited.Load() != repeatsAtOnce || s.changed.Load() != 1 {
			t.Errorf("%s: the request that hides got %d, %d of %d repeats a 429, and the store %d changes",
				what, status, limited.Load(), repeatsAtOnce, s.changed.Load())
		}
		if asked := s.asked.Load(); asked > 3 { // the first, those who waited, and perhaps the last
			t.Errorf("%s: the store was asked %d times", what, asked)
		}
	}
}

// While the questions of one caller wait for the store, another's are asked.
func TestHidingHasShares(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	of := map[scoreboard.UserID]int{}
	s := &slowUsers{goOn: make(chan struct{}), of: func(user scoreboard.UserID) {
		mu.Lock()
		defer mu.Unlock()
		of[user]++
	}}
	a, _ := hidingAPI(s)
	var all sync.WaitGroup
	put := func(user scoreboard.UserID) {
		token := minted(t, a, user, "")
		all.Go(func() {
			asks(t, a, route{method: http.MethodPut, path: setsPrivacy}, string(user), token, offTheBoards)
		})
	}
	asked := func(user scoreboard.UserID) int {
		mu.Lock()
		defer mu.Unlock()
		return of[user]
	}
	for range 20 {
		put("eve")
	}
	awaitThat(t, "eve's question", func() bool { return asked("eve") == 1 })
	put("ada")
	awaitThat(t, "ada's question", func() bool { return asked("ada") == 1 })
	if n := asked("eve"); n != 1 {
		t.Errorf("%d questions of eve are asked at once, want 1", n)
	}
	close(s.goOn)
	all.Wait()
}

// Where so many ask that the store cannot be asked for all, what hides is served.
func TestFullQueueServesWhatHides(t *testing.T) {
	t.Parallel()
	s := &slowUsers{goOn: make(chan struct{})}
	a, over := hidingAPI(s)
	var all sync.WaitGroup
	const users = 1024 + hidingReads // the waiting of a share.Pool
	for i := range users {
		user := scoreboard.UserID(fmt.Sprint("u", i))
		token := minted(t, a, user, "")
		all.Go(func() { asks(t, a, route{method: http.MethodPut, path: setsPrivacy}, string(user), token, toFriends) })
	}
	awaitThat(t, "all are in flight", func() bool { return over.n.Load() == users && s.asked.Load() >= hidingReads })
	time.Sleep(50 * time.Millisecond)
	got := asks(t, a, route{method: http.MethodPut, path: setsPrivacy}, "ada", minted(t, a, "ada", ""), offTheBoards)
	if got != http.StatusOK {
		t.Errorf("got %d, want 200", got)
	}
	close(s.goOn)
	all.Wait()
}

// Wrong tokens over the limit of their address are answered as any other request there, and count as
// wrong tokens.
func TestWrongTokensOverTheLimitCount(t *testing.T) {
	t.Parallel()
	a, _ := hidingAPI(&slowUsers{})
	failures := &countedFull{}
	a.limits.Address, a.limits.AuthFailures = full{}, failures
	got := asks(t, a, route{method: http.MethodPut, path: setsPrivacy}, "ada", "wrong", offTheBoards)
	if got != http.StatusTooManyRequests || failures.n.Load() != 1 {
		t.Errorf("got %d, and %d counted, want a 429 that counts", got, failures.n.Load())
	}
}
