package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

func TestWatchSurvivesRestart(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	s.Set(wire.Entry{UserID: "alice", Score: 5})
	states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
	wait(t, states, "the snapshot", leads("alice", client.WebSocket))

	start := time.Now() // the client cannot know before that it shall wait
	s.Disconnect(&wire.Message{Type: wire.MessageBye, Reason: "restart", ReconnectAfterMS: 300})
	away := wait(t, states, "the connection away",
		func(s client.State) bool { return s.Connection == client.Disconnected })
	if away.Err == nil || len(away.Entries) != 1 {
		t.Errorf("while disconnected: got %+v, want an error and the last entries", away)
	}
	back := wait(t, states, "the connection back", leads("alice", client.WebSocket))
	if back.Reconnects != 1 || back.Err != nil {
		t.Errorf("reconnected: got %+v, want one reconnect", back)
	}
	if took := time.Since(start); took < 300*time.Millisecond {
		t.Errorf("reconnected after %v, but the server requested 300 ms", took)
	}
}

func TestWatchSurvivesOutage(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	s.Set(wire.Entry{UserID: "alice", Score: 5})
	states := newClient(t, s, options("bob")).Watch(t.Context(), "", client.WatchOptions{})
	wait(t, states, "the snapshot", leads("alice", client.WebSocket))
	s.Fail(12, 503, wire.CodeUnavailable, 0)
	s.Disconnect(nil)
	wait(t, states, "the connection away", func(s client.State) bool { return s.Connection == client.Disconnected })
	back := wait(t, states, "the WebSocket again", leads("alice", client.WebSocket))
	if back.Reconnects != 1 {
		t.Errorf("after one outage: got %d reconnects", back.Reconnects)
	}
}

func TestWatchEndsWhenRejected(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	cases := []struct {
		name, token, board string
		code               wire.Code
	}{
		{"invalid token", "not a token", "", wire.CodeUnauthorized},
		{"unknown board", instance.Token("bob", ""), "nowhere", wire.CodeNotFound},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			states := newClient(t, s, client.Options{Token: tc.token}).Watch(t.Context(), tc.board,
				client.WatchOptions{})
			var last client.State
			for s := range states {
				last = s
			}
			if wire.CodeOf(last.Err) != tc.code {
				t.Errorf("last state: got %v, want %s", last.Err, tc.code)
			}
		})
	}
}

func TestWatchReconnectsAfterSilence(t *testing.T) {
	t.Parallel()
	for _, hidden := range []string{"", "ws"} { // by WebSocket, then by SSE
		s := instance.New(t)
		s.Hide(hidden, true)
		c := newClient(t, s, options("bob"))
		c.SetSilence(300 * time.Millisecond)
		states := c.Watch(t.Context(), "", client.WatchOptions{})
		wait(t, states, "a connection", func(s client.State) bool { return s.Connection != client.Disconnected })
		wait(t, states, "a silent stream given up",
			func(s client.State) bool { return s.Connection == client.Disconnected })
	}
}

// A watch releases everything when its context ends, in any state.
func TestWatchReleasesEverything(t *testing.T) {
	t.Parallel()
	for _, hidden := range [][]string{{}, {"ws"}, {"ws", "sse"}} {
		s := instance.New(t)
		for _, kind := range hidden {
			s.Hide(kind, true)
		}
		ctx, cancel := context.WithCancel(t.Context())
		c := newClient(t, s, options("bob"))
		states := c.Watch(ctx, "", client.WatchOptions{})
		wait(t, states, "a connection", func(s client.State) bool { return s.Connection != client.Disconnected })
		cancel()
		deadline := time.After(timeout) // the client's silence is a minute, so only the context can end it
		for open := true; open; {
			select {
			case _, open = <-states:
			case <-deadline:
				t.Fatal("the channel is still open after the context ended")
			}
		}
		for s.Streams() > 0 {
			select {
			case <-deadline:
				t.Fatal("the server's stream is still open after the context ended")
			case <-time.After(time.Millisecond):
			}
		}
	}
}

// Close ends all watches, even if their contexts have not ended.
func TestCloseEndsWatches(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	c := newClient(t, s, options("alice"))
	var watches []<-chan client.State
	for range 3 {
		watches = append(watches, c.Watch(context.Background(), "", client.WatchOptions{}))
	}
	for _, w := range watches {
		<-w // connected, or about to be
	}
	c.Close()
	for _, w := range append(watches, c.Watch(context.Background(), "", client.WatchOptions{})) {
		for range w { // until the channel is closed
		}
	}
}
