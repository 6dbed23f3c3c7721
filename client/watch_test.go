package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

// timeout is how long a test waits for a condition.
const timeout = 30 * time.Second

// wait reads states until one fulfils a condition.
func wait(t *testing.T, states <-chan client.State, what string, holds func(client.State) bool) client.State {
	t.Helper()
	return waitWhile(t, states, what, func() {}, holds)
}

// waitWhile does something again and again until a state fulfils a condition. A
// frame about the user is lost while a client reconnects, as ShortenTimeouts makes
// it do.
func waitWhile(
	t *testing.T, states <-chan client.State, what string, do func(), holds func(client.State) bool,
) client.State {
	t.Helper()
	late, again := time.After(timeout), time.NewTicker(200*time.Millisecond)
	defer again.Stop()
	do()
	var last client.State
	for {
		select {
		case <-again.C:
			do()
		case s, open := <-states:
			if !open {
				t.Fatalf("the watch ended before %s; last %+v", what, last)
			}
			if last = s; holds(s) {
				return s
			}
		case <-late:
			t.Fatalf("no state with %s; last %+v", what, last)
		}
	}
}

func leads(user string, by client.Connection) func(client.State) bool {
	return func(s client.State) bool {
		// A busy machine's Redis may answer too late: that state is degraded, and the next is not.
		return s.Connection == by && len(s.Entries) > 0 && s.Entries[0].UserID == user && s.Degraded == ""
	}
}

func TestWatchOverEachConnection(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name       string
		connection client.Connection
		hidden     []string
		options    client.WatchOptions
	}{
		{"ws", client.WebSocket, nil, client.WatchOptions{}},
		{"sse", client.SSE, []string{"ws"}, client.WatchOptions{}},
		{"sse requested", client.SSE, nil, client.WatchOptions{EventStream: true}},
		{"polling", client.Polling, []string{"ws", "sse"}, client.WatchOptions{}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := instance.New(t)
			for _, kind := range tc.hidden {
				s.Hide(kind, true)
			}
			s.Set(wire.Entry{UserID: "alice", Score: 5})
			c := newClient(t, s, options("bob"))
			top, err := c.Top(t.Context(), client.TopQuery{})
			if err != nil {
				t.Fatal(err)
			}
			states := c.Watch(t.Context(), "", tc.options)
			first := wait(t, states, "the snapshot", leads("alice", tc.connection))
			if first.Board != "global" || first.Epoch != *top.Epoch || first.HeardAt.IsZero() || first.Reconnects != 0 {
				t.Errorf("first state: got %+v, want epoch %d", first, *top.Epoch)
			}
			s.Set(wire.Entry{UserID: "bob", Score: 9})
			next := wait(t, states, "bob ahead", leads("bob", tc.connection))
			if next.Version <= first.Version {
				t.Errorf("version: got %d after %d", next.Version, first.Version)
			}
			if tc.connection != client.Polling {
				if next.Me == nil { // otherwise it arrived with this state
					next = wait(t, states, "bob's own change", func(s client.State) bool { return s.Me != nil })
				}
				if next.Me.Rank != 1 || next.Me.Score != 9 {
					t.Errorf("own change: got %+v, want rank 1, score 9", next.Me)
				}
			}
		})
	}
}

func TestWatchFallsBackAndRecovers(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	s.Set(wire.Entry{UserID: "alice", Score: 5})
	states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
	wait(t, states, "the snapshot", leads("alice", client.WebSocket))
	s.Hide("ws", true)
	s.Hide("sse", true)
	s.Disconnect(nil)
	wait(t, states, "polling", leads("alice", client.Polling))
	s.Hide("ws", false)
	wait(t, states, "the WebSocket again", leads("alice", client.WebSocket))
}

// While streams do not work, the attempts to open one are not visible.
func TestWatchPollsWithoutGaps(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	s.Hide("ws", true)
	s.Hide("sse", true)
	states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
	wait(t, states, "polling", func(s client.State) bool { return s.Connection == client.Polling })
	tries := 0
	wait(t, states, "three more tries", func(state client.State) bool {
		if state.Connection != client.Polling || state.Reconnects != 0 {
			t.Fatalf("got %+v between polls", state)
		}
		if state.Err == nil {
			t.Fatalf("got %+v, want in Err why no stream works", state)
		}
		tries = 0
		for _, r := range s.Seen() {
			if strings.HasPrefix(r.Path, "/v1/realtime") && r.Header.Get("Upgrade") != "" {
				tries++
			}
		}
		return tries >= 4
	})
}

func TestWatchIgnoresOlderStates(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	s.Set(wire.Entry{UserID: "alice", Score: 5})
	s.Rebuild()
	s.Set(wire.Entry{UserID: "bob", Score: 9})
	states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
	now := wait(t, states, "the snapshot", leads("bob", client.WebSocket))

	s.Push(wire.Message{
		Type: wire.MessageUpdated, Board: "global", Epoch: now.Epoch - 1, Version: now.Version + 99,
		Top: []wire.Entry{{Rank: 1, UserID: "old-epoch", Score: 1}},
	})
	s.Push(wire.Message{
		Type: wire.MessageUpdated, Board: "global", Epoch: now.Epoch, Version: now.Version - 1,
		Top: []wire.Entry{{Rank: 1, UserID: "old-version", Score: 1}},
	})
	s.Push(wire.Message{Type: "leaderboard.of-a-newer-protocol"})
	s.Push(wire.Message{
		Type: wire.MessageUpdated, Board: "global", Epoch: now.Epoch + 1, Version: 1,
		Top: []wire.Entry{{Rank: 1, UserID: "rebuilt", Score: 1}},
	})
	wait(t, states, "the newer epoch", func(s client.State) bool {
		if user := s.Entries[0].UserID; user == "old-epoch" || user == "old-version" {
			t.Fatalf("an older state was shown: %+v", s)
		}
		return s.Entries[0].UserID == "rebuilt"
	})
}

// A server whose data was replaced has lower epochs and versions, and stays there.
func TestWatchFollowsLowerEpochThatStays(t *testing.T) {
	t.Parallel()
	for _, connection := range []client.Connection{client.WebSocket, client.SSE, client.Polling} {
		t.Run(string(connection), func(t *testing.T) {
			t.Parallel()
			before, after := instance.New(t), instance.New(t)
			for _, s := range []*instance.Server{before, after} {
				s.Hide("ws", connection != client.WebSocket)
				s.Hide("sse", connection == client.Polling)
			}
			for range 3 {
				before.Rebuild()
			}
			before.Set(wire.Entry{UserID: "bob", Score: 9})
			after.Set(wire.Entry{UserID: "carol", Score: 3})
			var current atomic.Pointer[instance.Server]
			current.Store(before)
			front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
				to, err := url.Parse(current.Load().URL)
				if err != nil {
					t.Error(err)
				}
				r.SetURL(to)
			}, FlushInterval: -1})
			t.Cleanup(front.Close) // after the watch's context has ended; otherwise it would block
			c, err := client.New(front.URL, options("bob"))
			if err != nil {
				t.Fatal(err)
			}
			c.ShortenTimeouts()
			states := c.Watch(t.Context(), "", client.WatchOptions{Confirm: 50 * time.Millisecond})
			first := wait(t, states, "the snapshot", leads("bob", connection))
			if connection != client.Polling {
				waitWhile(t, states, "bob's own change", func() {
					before.Push(wire.Message{
						Type: wire.MessageRank, UserID: "bob", Score: &[]int64{9}[0], Version: 50, Epoch: first.Epoch,
					})
				}, func(s client.State) bool { return s.Me != nil })
			}
			current.Store(after)
			before.Disconnect(nil)
			back := wait(t, states, "the replaced board", leads("carol", connection))
			if back.Epoch >= first.Epoch {
				t.Errorf("epoch %d after %d, want a lower one", back.Epoch, first.Epoch)
			}
			after.Set(wire.Entry{UserID: "bob", Score: 10})
			wait(t, states, "the next change", leads("bob", connection))
			if connection != client.Polling {
				score := int64(10) // its frame has come already, or never
				waitWhile(t, states, "bob's own change", func() {
					score++
					after.Set(wire.Entry{UserID: "bob", Score: score})
				}, func(s client.State) bool { return s.Me != nil && s.Me.Score >= 10 })
			}
		})
	}
}

func TestWatchShowsDegraded(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	s.Set(wire.Entry{UserID: "alice", Score: 5})
	states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
	wait(t, states, "the snapshot", leads("alice", client.WebSocket))
	s.StopRedis()
	wait(t, states, "degraded", func(s client.State) bool { return s.Degraded == "ranking_unavailable" })
	s.StartRedis()
	wait(t, states, "healthy again",
		func(s client.State) bool { return s.Degraded == "" && s.Connection == client.WebSocket })
}

// A reader that does not read blocks nothing, and then gets the latest state.
func TestWatchSkipsStatesForSlowReaders(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
	now := wait(t, states, "the connection",
		func(s client.State) bool { return s.Connection == client.WebSocket && s.Degraded == "" })
	for i := range int64(100) {
		s.Push(wire.Message{
			Type: wire.MessageUpdated, Board: "global", Epoch: now.Epoch, Version: now.Version + i + 1,
		})
	}
	s.Disconnect(nil)
	last := fmt.Sprintf("%d:%d", now.Epoch, now.Version+100)
	soon(t, "a reconnect with the last version", func() error {
		if seen := s.Seen(); seen[len(seen)-1].Header.Get("Last-Event-ID") != last {
			return fmt.Errorf("got %q, want %s", seen[len(seen)-1].Header.Get("Last-Event-ID"), last)
		}
		return nil
	})
	if state := <-states; state.Version != now.Version+100 {
		t.Errorf("read version %d first, want %d", state.Version, now.Version+100)
	}
}

// The server is behind TLS and a path prefix; requests use HTTP/2, WebSockets HTTP/1.1.
func TestWatchOverTLSBelowPath(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	s.Set(wire.Entry{UserID: "alice", Score: 5})
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewUnstartedServer(http.StripPrefix("/scores", httputil.NewSingleHostReverseProxy(target)))
	proxy.EnableHTTP2 = true
	proxy.StartTLS()
	t.Cleanup(proxy.Close) // runs after the watch's context has ended; otherwise it would block
	o := options("bob")
	o.HTTP = proxy.Client()
	c, err := client.New(proxy.URL+"/scores/", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Top(t.Context(), client.TopQuery{}); err != nil { // negotiates HTTP/2
		t.Fatal(err)
	}
	states := c.Watch(t.Context(), "", client.WatchOptions{})
	wait(t, states, "the snapshot", leads("alice", client.WebSocket))
}
