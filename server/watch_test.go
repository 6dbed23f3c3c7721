package server_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// await reads states until one satisfies the condition.
func await(t *testing.T, states <-chan client.State, what string, holds func(client.State) bool) client.State {
	t.Helper()
	timeout := time.After(awaitTimeout)
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

func leads(user string) func(client.State) bool {
	return func(s client.State) bool { return len(s.Entries) > 0 && s.Entries[0].UserID == user }
}

// healthy reports a state from a loaded ranking: at the start it is being built.
func healthy(s client.State) bool {
	return s.Connection == client.WebSocket && s.Degraded == "" && s.Epoch > 0
}

// metric returns the sum of a metric's series with the label.
func (n *node) metric(t *testing.T, name, label string) (sum float64) {
	t.Helper()
	_, _, body := request(t, http.MethodGet, n.Ops+"/metrics", "", nil)
	for line := range strings.Lines(body) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(series, name) && strings.Contains(series, label) {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += v
		}
	}
	return sum
}

// A client that reconnects with the current state is not sent it again.
func TestWatchResumes(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "realtime-lifetime", "500ms", "realtime-reconnect-within", "100ms")
	game := n.client("game", auth.ScopeUpdate)
	if _, err := game.Submit(t.Context(), client.Increment{User: "bob", Delta: 5}); err != nil {
		t.Fatal(err)
	}
	states := n.client("alice", "").Watch(t.Context(), "", client.WatchOptions{})
	await(t, states, "bob", func(s client.State) bool { return healthy(s) && leads("bob")(s) })
	const frames = "scoreboard_realtime_messages_sent_total"
	before, began := -1.0, 0
	h.await("the end of the start, in which the state of the board changes", func() bool {
		was := before
		time.Sleep(time.Second)
		before = n.metric(t, frames, "leaderboard.updated")
		return was == before
	})
	await(t, states, "a connection", func(s client.State) bool {
		began = s.Reconnects
		return healthy(s)
	})
	back := await(t, states, "three reconnects", func(s client.State) bool {
		return s.Reconnects >= began+3 && s.Connection == client.WebSocket
	})
	if got := n.metric(t, frames, "leaderboard.updated"); got != before {
		t.Errorf("%v states were sent to a client with the current one", got-before)
	}
	if time.Since(back.HeardAt) > 5*time.Second {
		t.Errorf("last heard at %s, which is too old", back.HeardAt)
	}
	if _, err := game.Submit(t.Context(), client.Increment{User: "carol", Delta: 9}); err != nil {
		t.Fatal(err)
	}
	await(t, states, "carol", leads("carol"))
}

// On an idle board, keepalives confirm the state for clients that ask for them.
func TestWatchConfirms(t *testing.T) {
	t.Parallel()
	n := newHarness(t).start(allRoles)
	states := n.client("alice", "").Watch(t.Context(), "", client.WatchOptions{Confirm: 100 * time.Millisecond})
	first := await(t, states, "a healthy board", healthy)
	const frames = "scoreboard_realtime_messages_sent_total"
	before := n.metric(t, frames, "")
	await(t, states, "keepalives over a second",
		func(s client.State) bool { return s.HeardAt.Sub(first.HeardAt) > time.Second })
	if got := n.metric(t, frames, ""); got != before {
		t.Errorf("%v frames on an idle board, want none", got-before)
	}
}

func TestWatchOverALimitPolls(t *testing.T) {
	t.Parallel()
	n := newHarness(t).start(allRoles, "realtime-connections-per-user", "1")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := n.client("alice", "").Watch(ctx, "", client.WatchOptions{})
	await(t, first, "a connection", func(s client.State) bool { return s.Connection == client.WebSocket })
	second := n.client("alice", "").Watch(ctx, "", client.WatchOptions{})
	await(t, second, "polls", func(s client.State) bool { return s.Connection == client.Polling })
	last := await(t, n.client("alice", "").Watch(ctx, "nosuch", client.WatchOptions{}), "the end",
		func(s client.State) bool { return wire.CodeOf(s.Err) == wire.CodeNotFound })
	if last.Connection != client.Disconnected {
		t.Errorf("an unknown board: got %+v", last)
	}
}

// A page can connect with the client's ticket.
func TestRealtimeToken(t *testing.T) {
	t.Parallel()
	n := newHarness(t).start(allRoles)
	ticket, err := n.client("alice", "").RealtimeToken(t.Context(), "")
	if err != nil || time.Until(ticket.ExpiresAt) < 20*time.Second {
		t.Fatalf("got %+v, %v", ticket, err)
	}
	ws, _ := dial(t, n.live("token", ticket.Token), nil)
	if f := frame(t, ws); f.Board != "global" {
		t.Errorf("got %+v, want the board", f)
	}
	if _, err := n.client("alice", "").RealtimeToken(t.Context(),
		"nosuch"); wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("an unknown board: got %v, want not_found", err)
	}
}

// reads.top_n is the default number of rows of reads and of streams.
func TestReadsAndStreamsHonourTopN(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "reads-top-n", "2")
	game, root := n.client("game", auth.ScopeUpdate), n.client("root", auth.ScopeAdmin)
	for i := range 12 {
		if _, err := game.Submit(t.Context(), client.Increment{User: "u" + strconv.Itoa(i), Delta: 5}); err != nil {
			t.Fatal(err)
		}
	}
	rows := func(limit int) func() bool {
		return func() bool {
			top, err := root.Top(t.Context(), client.TopQuery{})
			return err == nil && !top.Degraded && len(top.Entries) == limit && top.Total == 12
		}
	}
	h.await("2 rows in all", rows(2))
	alice := bearer(h.token("alice", "", time.Hour))
	for query, want := range map[string]int{"": 2, "10": 10, "100": 12} {
		address := n.live("board", "global")
		if query != "" {
			address = n.live("limit", query)
		}
		ws, _ := dial(t, address, alice)
		if f := frame(t, ws); len(f.Top) != want {
			t.Errorf("limit %q: the frame has %d rows, want %d", query, len(f.Top), want)
		}
		_ = ws.Close()
	}
	ws, _ := dial(t, n.live(), alice)
	if f := frame(t, ws); len(f.Top) != 2 {
		t.Fatalf("the frame has %d rows, want 2", len(f.Top))
	}
	value := "5"
	if _, err := root.ChangeSetting(t.Context(), "reads.top_n",
		client.SettingRequest{Value: &value, Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	h.await("5 rows in all", rows(5))
	if f := frame(t, ws); len(f.Top) != 5 { // although no score has changed
		t.Errorf("the open stream's next frame has %d rows, want 5", len(f.Top))
	}
}
