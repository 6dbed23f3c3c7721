package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/clienttest"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// wait reads states until one holds.
func wait(t *testing.T, states <-chan client.State, what string, holds func(client.State) bool) client.State {
	t.Helper()
	timeout := time.After(10 * time.Second)
	var last client.State
	for {
		select {
		case s, open := <-states:
			if !open {
				t.Fatalf("the watch ended before %s; last %+v", what, last)
			}
			if last = s; holds(s) {
				return s
			}
		case <-timeout:
			t.Fatalf("no state with %s; last %+v", what, last)
		}
	}
}

func leads(user string, by client.Connection) func(client.State) bool {
	return func(s client.State) bool {
		return s.Connection == by && len(s.Entries) > 0 && s.Entries[0].UserID == user
	}
}

func TestWatchByEachConnection(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name       string
		connection client.Connection
		hidden     []string
		options    client.WatchOptions
	}{
		{"ws", client.WebSocket, nil, client.WatchOptions{}},
		{"sse", client.SSE, []string{"ws"}, client.WatchOptions{}},
		{"sse by choice", client.SSE, nil, client.WatchOptions{EventStream: true}},
		{"polling", client.Polling, []string{"ws", "sse"}, client.WatchOptions{}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := clienttest.New(t)
			for _, kind := range tc.hidden {
				s.Hide(kind, true)
			}
			s.Set(protocol.Entry{UserID: "alice", Score: 5})
			states := newClient(t, s, options("bob")).Watch(t.Context(), "", tc.options)
			first := wait(t, states, "the snapshot", leads("alice", tc.connection))
			if first.Board != "global" || first.Epoch != 1 || first.HeardAt.IsZero() || first.Reconnects != 0 {
				t.Errorf("first state: got %+v", first)
			}
			s.Set(protocol.Entry{UserID: "bob", Score: 9})
			next := wait(t, states, "bob ahead", leads("bob", tc.connection))
			if next.Version <= first.Version {
				t.Errorf("version: got %d after %d", next.Version, first.Version)
			}
			if tc.connection != client.Polling {
				if next.Me == nil { // else it came with the same state
					next = wait(t, states, "bob's own change", func(s client.State) bool { return s.Me != nil })
				}
				if next.Me.Rank != 1 || next.Me.Score != 9 {
					t.Errorf("own change: got %+v, want rank 1, score 9", next.Me)
				}
			}
		})
	}
}

func TestWatchSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	s.Set(protocol.Entry{UserID: "alice", Score: 5})
	states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
	wait(t, states, "the snapshot", leads("alice", client.WebSocket))

	s.Disconnect(&protocol.Frame{Type: protocol.FrameBye, Reason: "restart", ReconnectAfterMS: 300})
	away := wait(t, states, "the connection away", func(s client.State) bool { return s.Connection == client.Disconnected })
	if away.Err == nil || len(away.Entries) != 1 {
		t.Errorf("while away: got %+v, want the reason and the last entries", away)
	}
	start := time.Now()
	back := wait(t, states, "the connection back", leads("alice", client.WebSocket))
	if back.Reconnects != 1 || back.Err != nil {
		t.Errorf("back: got %+v, want one reconnect", back)
	}
	if took := time.Since(start); took < 250*time.Millisecond {
		t.Errorf("came back after %v, but the server asked for 300 ms", took)
	}
}

func TestWatchFallsBackAndReturns(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	s.Set(protocol.Entry{UserID: "alice", Score: 5})
	states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
	wait(t, states, "the snapshot", leads("alice", client.WebSocket))
	s.Hide("ws", true)
	s.Hide("sse", true)
	s.Disconnect(nil)
	wait(t, states, "polling", leads("alice", client.Polling))
	s.Hide("ws", false)
	wait(t, states, "the WebSocket again", leads("alice", client.WebSocket))
}

func TestWatchOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	s.Set(protocol.Entry{UserID: "alice", Score: 5})
	states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
	wait(t, states, "the snapshot", leads("alice", client.WebSocket))
	s.Fail(12, 503, scoreboard.CodeUnavailable, 0)
	s.Disconnect(nil)
	wait(t, states, "the connection away", func(s client.State) bool { return s.Connection == client.Disconnected })
	back := wait(t, states, "the WebSocket again", leads("alice", client.WebSocket))
	if back.Reconnects != 1 {
		t.Errorf("after one outage: got %d reconnects", back.Reconnects)
	}
}

// Where no stream can be had, the tries to get one do not show.
func TestWatchPollsSteadily(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	s.Hide("ws", true)
	s.Hide("sse", true)
	states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
	wait(t, states, "polling", func(s client.State) bool { return s.Connection == client.Polling })
	tries := 0
	wait(t, states, "three more tries", func(state client.State) bool {
		if state.Connection != client.Polling || state.Reconnects != 0 {
			t.Fatalf("got %+v between polls", state)
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

func TestWatchIgnoresWhatIsOlder(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	s.Set(protocol.Entry{UserID: "alice", Score: 5})
	s.Rebuild()
	s.Set(protocol.Entry{UserID: "bob", Score: 9})
	states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
	wait(t, states, "the snapshot", leads("bob", client.WebSocket))

	s.Push(protocol.Frame{Type: protocol.FrameUpdated, Board: "global", Epoch: 1, Version: 99, Top: []protocol.Entry{{Rank: 1, UserID: "old-epoch", Score: 1}}})
	s.Push(protocol.Frame{Type: protocol.FrameUpdated, Board: "global", Epoch: 2, Version: 1, Top: []protocol.Entry{{Rank: 1, UserID: "old-version", Score: 1}}})
	s.Push(protocol.Frame{Type: "leaderboard.of-a-newer-protocol"})
	s.Push(protocol.Frame{Type: protocol.FrameUpdated, Board: "global", Epoch: 3, Version: 1, Top: []protocol.Entry{{Rank: 1, UserID: "rebuilt", Score: 1}}})
	wait(t, states, "the newer epoch", func(s client.State) bool {
		if user := s.Entries[0].UserID; user == "old-epoch" || user == "old-version" {
			t.Fatalf("an older state was shown: %+v", s)
		}
		return s.Entries[0].UserID == "rebuilt"
	})
}

func TestWatchEndsWhenRefused(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	cases := []struct {
		name, token, board string
		code               scoreboard.Code
	}{
		{"bad token", "no token at all", "", scoreboard.CodeUnauthorized},
		{"unknown board", clienttest.Token("bob", ""), "nowhere", scoreboard.CodeNotFound},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			states := newClient(t, s, client.Options{Token: tc.token}).Watch(t.Context(), tc.board, client.WatchOptions{})
			var last client.State
			for s := range states {
				last = s
			}
			if scoreboard.CodeOf(last.Err) != tc.code {
				t.Errorf("last state: got %v, want %s", last.Err, tc.code)
			}
		})
	}
}

func TestWatchShowsDegraded(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	s.Set(protocol.Entry{UserID: "alice", Score: 5})
	states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
	wait(t, states, "the snapshot", leads("alice", client.WebSocket))
	s.Degrade("rebuilding")
	wait(t, states, "degraded", func(s client.State) bool { return s.Degraded == "rebuilding" })
	s.Degrade("")
	wait(t, states, "healthy again", func(s client.State) bool { return s.Degraded == "" && s.Connection == client.WebSocket })
}

// A reader that does not read holds up nothing and finds the newest state.
func TestWatchConflates(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
	wait(t, states, "the connection", func(s client.State) bool { return s.Connection == client.WebSocket })
	for i := range 100 {
		s.Push(protocol.Frame{Type: protocol.FrameUpdated, Board: "global", Epoch: 1, Version: int64(10 + i)})
	}
	read := 0
	wait(t, states, "the newest", func(s client.State) bool { read++; time.Sleep(20 * time.Millisecond); return s.Version == 109 })
	if read > 50 {
		t.Errorf("read %d states of 100, want those between skipped", read)
	}
}

func TestWatchSilenceIsAnEnd(t *testing.T) {
	t.Parallel()
	for _, hidden := range []string{"", "ws"} { // by WebSocket, then by SSE
		s := clienttest.New(t)
		s.Hide(hidden, true)
		states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
		wait(t, states, "a connection", func(s client.State) bool { return s.Connection != client.Disconnected })
		wait(t, states, "a silent stream given up", func(s client.State) bool { return s.Connection == client.Disconnected })
	}
}

// Nothing of a watch is left once its context has ended, whatever it was doing
// at the time.
func TestWatchLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, hidden := range [][]string{{}, {"ws"}, {"ws", "sse"}} {
		s := clienttest.New(t)
		for _, kind := range hidden {
			s.Hide(kind, true)
		}
		ctx, cancel := context.WithCancel(t.Context())
		c := newClient(t, s, options("bob"))
		c.SetSilence(time.Minute) // so that only the context can end it
		states := c.Watch(ctx, "", client.WatchOptions{})
		wait(t, states, "a connection", func(s client.State) bool { return s.Connection != client.Disconnected })
		cancel()
		deadline := time.After(time.Second)
		for open := true; open; {
			select {
			case _, open = <-states:
			case <-deadline:
				t.Fatal("the channel is open a second after the context ended")
			}
		}
		for s.Streams() > 0 {
			select {
			case <-deadline:
				t.Fatal("the server still has the stream a second after the context ended")
			case <-time.After(time.Millisecond):
			}
		}
	}
}

// TLS, HTTP/2 beside WebSockets, and a server below a path of its own.
func TestWatchOverTLSBelowAPath(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	s.Set(protocol.Entry{UserID: "alice", Score: 5})
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewUnstartedServer(http.StripPrefix("/scores", httputil.NewSingleHostReverseProxy(target)))
	proxy.EnableHTTP2 = true
	proxy.StartTLS()
	t.Cleanup(proxy.Close) // after the context of the watch has ended, or it would wait for it
	o := options("bob")
	o.HTTP = proxy.Client()
	c, err := client.New(proxy.URL+"/scores/", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Top(t.Context(), client.TopQuery{}); err != nil { // by HTTP/2, which the transport learns with it
		t.Fatal(err)
	}
	states := c.Watch(t.Context(), "", client.WatchOptions{})
	wait(t, states, "the snapshot", leads("alice", client.WebSocket))
}

// Nothing of a client runs after Close, whatever its watches' contexts say.
func TestCloseEndsTheWatches(t *testing.T) {
	t.Parallel()
	s := clienttest.New(t)
	c := newClient(t, s, options("alice"))
	var watches []<-chan client.State
	for range 3 {
		watches = append(watches, c.Watch(context.Background(), "", client.WatchOptions{}))
	}
	for _, w := range watches {
		<-w // connected, or on the way
	}
	c.Close()
	for _, w := range append(watches, c.Watch(context.Background(), "", client.WatchOptions{})) {
		for range w { // until it is closed
		}
	}
}
