package server_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A watcher of a board with periods sees the next one when it begins, over the same
// connection.
func TestStreamFollowsRollover(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	other := h.start(gatewayOnly)
	root, game := n.client("root", auth.ScopeAdmin), n.client("game", auth.ScopeUpdate)
	end, laterEnd := time.Now().Add(time.Hour).UTC(), time.Now().Add(2*time.Hour).UTC()
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "season", Period: "season", Season: "one",
		EndsAt: &end,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := game.Submit(t.Context(), client.Increment{User: "bob", Board: "season", Delta: 5}); err != nil {
		t.Fatal(err)
	}
	var watches []<-chan client.State
	for _, node := range []*node{n, other} {
		states := node.client("alice", "").Watch(t.Context(), "season", client.WatchOptions{})
		await(t, states, "bob in the first season", func(s client.State) bool {
			return healthy(s) && s.Board == "season:one" && leads("bob")(s)
		})
		watches = append(watches, states)
	}
	if _, err := root.RollBoards(t.Context(), "season",
		client.RollRequest{Season: "two", EndsAt: &laterEnd}); err != nil {
		t.Fatal(err)
	}
	h.await("the second season to take scores", func() bool {
		r, err := game.Submit(t.Context(), client.Increment{User: "carol", Board: "season", Delta: 1})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		return r.Board == "season:two"
	})
	for _, states := range watches {
		s := await(t, states, "the second season", func(s client.State) bool {
			return s.Board == "season:two" && leads("carol")(s)
		})
		if len(s.Entries) != 1 || s.Reconnects != 0 || s.Connection != client.WebSocket {
			t.Errorf("got %+v, want only carol over the same connection", s)
		}
	}
}

// A repeat gets its receipt although no season has begun, as after the database's clock
// has gone back: the client does not know whether it was recorded.
func TestRepeatBeforeAllSeasons(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	root, game := n.client("root", auth.ScopeAdmin), n.client("game", auth.ScopeUpdate)
	end := time.Now().Add(3 * time.Hour).UTC()
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "season", Period: "season", Season: "one", EndsAt: &end,
	}); err != nil {
		t.Fatal(err)
	}
	in := client.Increment{User: "bob", Board: "season", Delta: 5, EventID: "e"}
	if _, err := game.Submit(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	backends.Connect(t, h.postgres).Do(t,
		`update boards set period_start = now() + interval '1 hour' where board_id = 'season:one'`)
	h.await("the node to notice", func() bool {
		status, _ := h.get(t, n.URL+"/v1/leaderboard/top?board=season", bearer(h.token("bob", "", time.Hour)))
		return status == http.StatusNotFound
	})
	if r, err := game.Submit(t.Context(), in); err != nil || !r.Replayed || r.NewScore != 5 {
		t.Errorf("a repeat: got %+v, %v, want the first receipt", r, err)
	}
	in.EventID = "f"
	var e *client.Error
	if _, err := game.Submit(t.Context(), in); !errors.As(err, &e) || e.Code != "board_closed" {
		t.Errorf("another event: got %v, want board_closed", err)
	}
}
