package realtime_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
)

func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startInMemory(t, realtime.Options{
			DrainPercent: 10, DrainEvery: 50 * time.Millisecond, ReconnectWithin: 5 * time.Second,
		}, newRanking("global"))
		var mu sync.Mutex
		var closed []time.Time
		delays := make(map[int64]bool)
		var wg sync.WaitGroup
		for range 40 {
			w := r.dial("")
			w.frame()
			wg.Go(func() {
				f, ok := w.try()
				if !ok {
					return
				}
				_, err := w.read()
				var closedWith *websocket.CloseError
				code := 0
				if errors.As(err, &closedWith) {
					code = closedWith.Code
				}
				mu.Lock()
				defer mu.Unlock()
				if f.Type != wire.MessageBye || code != 1012 || f.Reason != "restart" || f.ReconnectAfterMS < 0 ||
					f.ReconnectAfterMS > 5000 {
					t.Errorf("closed with %d after %+v, want 1012 after a restart's bye", code, f)
				}
				delays[f.ReconnectAfterMS] = true
				closed = append(closed, time.Now())
			})
		}
		drained := make(chan error, 1)
		go func() { drained <- r.hub.Drain(t.Context()) }()
		await(t, "joins to be refused", func() bool {
			w := r.dial("")
			if f := w.frame(); f.Type == wire.MessageUpdated {
				_ = w.ws.Close()
				return false
			}
			return true
		})
		if code, _ := r.dial("").closed(); code != 1012 {
			t.Errorf("join while draining: closed with %d, want 1012", code)
		}
		wg.Wait()
		if err := <-drained; err != nil {
			t.Error(err)
		}
		if took := closed[len(closed)-1].Sub(closed[0]); took < 300*time.Millisecond {
			t.Errorf("40 connections, 10 %% each 50 ms, closed within %s", took)
		}
		if len(delays) < 20 {
			t.Errorf("%d different reconnect delays for 40 clients, want them random", len(delays))
		}
	})
}

func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startInMemory(t, realtime.Options{DrainPercent: 1, DrainEvery: time.Hour}, newRanking("global"))
		a, b := r.dial(""), r.dial("")
		a.frame()
		b.frame()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := r.hub.Drain(ctx); err == nil {
			t.Error("drained two connections at one an hour")
		}
		r.stop() // closes the rest
	})
}

// networks are queries from n networks of one IPv6 site.
func networks(n int) []string {
	var queries []string
	for i := range n {
		queries = append(queries, fmt.Sprintf("address=2001:db8:1:%x::1", i))
	}
	return queries
}

func TestLimits(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		options realtime.Options
		queries []string // the last is refused
	}{
		{"user", realtime.Options{ConnectionsPerUser: 2}, []string{"user=a", "user=a", "user=b", "", "", "", "user=a"}},
		{"address", realtime.Options{ConnectionsPerAddress: 1}, []string{"address=1", "address=2", "address=1"}},
		{
			"IPv6 network",
			realtime.Options{ConnectionsPerAddress: 1},
			[]string{
				"address=2001:db8:1:1::1", "address=2001:db8:1:2::1", "address=192.0.2.1", "address=2001:db8:1:1::2",
			},
		},
		{"IPv6 site", realtime.Options{ConnectionsPerAddress: 1}, append(networks(16), "address=2001:db8:1:ff::1")},
		{
			"narrower IPv6 network",
			realtime.Options{ConnectionsPerAddress: 1, IPv6Prefix: 128},
			[]string{"address=2001:db8:1:1::1", "address=2001:db8:1:1::2", "address=2001:db8:1:1::1"},
		},
		{
			"anonymous",
			realtime.Options{AnonymousPerAddress: 1},
			[]string{"address=1&user=a", "address=1", "address=2", "address=1&user=b", "address=1"},
		},
		{"node", realtime.Options{ConnectionsPerNode: 2}, []string{"", "", ""}},
		{"joins", realtime.Options{JoinsPerSecond: 2}, []string{"", "", ""}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := startInMemory(t, c.options, newRanking("global"))
				var open []*watcher
				for _, q := range c.queries[:len(c.queries)-1] {
					w := r.dial(q)
					w.expect(wire.MessageUpdated)
					open = append(open, w)
				}
				last := c.queries[len(c.queries)-1]
				if code, reason := r.dial(last).closed(); code != wire.CloseLimit || reason != "rate_limited" {
					t.Errorf("one too many: closed with %d %q, want 4429 rate_limited", code, reason)
				}
				for _, w := range open {
					_ = w.ws.Close()
				}
				await(t, "capacity", func() bool {
					return r.dial(last).frame().Type == wire.MessageUpdated
				})
			})
		})
	}
}

func TestLifetime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startInMemory(t, realtime.Options{Lifetime: 400 * time.Millisecond}, newRanking("global"))
		w := r.dial("")
		w.frame()
		if f := w.expect(wire.MessageBye); f.Reason != "lifetime" {
			t.Errorf("bye: got %+v, want lifetime", f)
		}
		if code, _ := w.closed(); code != 1012 {
			t.Errorf("code: got %d, want 1012", code)
		}
	})
}
