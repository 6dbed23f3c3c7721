package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// subscribe subscribes to another board and returns the response: a frame of that
// board or an error.
func subscribe(t *testing.T, ws *websocket.Conn, board string) protocol.Frame {
	t.Helper()
	if err := ws.WriteJSON(protocol.Command{Type: "subscribe", Board: board}); err != nil {
		t.Fatal(err)
	}
	for {
		if f := frame(t, ws); f.Board == board {
			return f
		}
	}
}

// Private boards are streamed only to servers and operators, by token, ticket or
// subscription; public ones also to anonymous clients if that is enabled.
func TestStreamsOfPrivateBoards(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	open := h.start(gatewayOnly, "reads-anonymous", "true", "limit-anonymous-per-minute", "3")
	private := false
	root := n.client("root", auth.ScopeAdmin)
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{Board: "staff", Public: &private}); err != nil {
		t.Fatal(err)
	}
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{Board: "weekly", Period: "weekly"}); err != nil {
		t.Fatal(err)
	}
	alice, game := bearer(h.token("alice", "", time.Hour)), bearer(h.token("game", auth.ScopeUpdate, time.Hour))
	for _, node := range []*node{n, open} {
		h.await("the node to know the board", func() bool {
			status, _ := h.get(t, node.URL+"/v1/leaderboard/top?board=staff", game)
			return status == http.StatusOK
		})
	}

	ws, _ := dial(t, n.live("board", "staff"), alice)
	if code, reason := closed(t, ws); code != protocol.CloseForbidden || reason != "forbidden" {
		t.Errorf("a user on a private board: closed with %d %q, want 4403", code, reason)
	}
	if status, body := h.get(t, n.URL+"/v1/realtime/token?board=staff", alice); status != http.StatusForbidden {
		t.Errorf("a user's ticket for it: got %d %s, want 403", status, body)
	}
	ws, _ = dial(t, n.live(), alice)
	if f := subscribe(t, ws, "staff"); f.ErrorCode != "forbidden" {
		t.Errorf("a user's subscription to it: got %+v, want forbidden", f)
	}
	if f := subscribe(t, ws, "nosuch"); f.ErrorCode != "not_found" {
		t.Errorf("an unknown board: got %+v, want not_found", f)
	}

	ws, _ = dial(t, n.live("board", "staff"), game)
	if f := frame(t, ws); f.Type != protocol.FrameUpdated || f.Board != "staff" {
		t.Errorf("a server: got %+v, want the board", f)
	}
	ws, _ = dial(t, n.live("board", "staff", "token", n.ticket(t, h.token("game", auth.ScopeUpdate, time.Hour),
		"staff")), nil)
	if f := frame(t, ws); f.Type != protocol.FrameUpdated || f.Board != "staff" {
		t.Errorf("a server's ticket: got %+v, want the board", f)
	}

	// A board with periods is streamed as its current period.
	ws, _ = dial(t, n.live("board", "weekly"), alice)
	if f := frame(t, ws); len(f.Board) != len("weekly:2026-w47") {
		t.Errorf("a board with periods: got board %q, want its current period", f.Board)
	}

	ws, _ = dial(t, open.live(), nil)
	if f := frame(t, ws); f.Type != protocol.FrameUpdated || f.Board != "global" {
		t.Errorf("an anonymous client on a public board: got %+v, want the board", f)
	}
	ws, _ = dial(t, open.live("board", "staff"), nil)
	if code, _ := closed(t, ws); code != protocol.CloseToken {
		t.Errorf("an anonymous client on a private board: closed with %d, want 4401", code)
	}
	dial(t, open.live(), nil)
	ws, _ = dial(t, open.live(), nil)
	if code, _ := closed(t, ws); code != protocol.CloseLimit {
		t.Errorf("an anonymous client over the limit: closed with %d, want 4429", code)
	}
}
