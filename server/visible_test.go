package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// subscribe subscribes to another board and returns the response: a frame of that
// board or an error.
func subscribe(t *testing.T, ws *websocket.Conn, board string) wire.Message {
	t.Helper()
	if err := ws.WriteJSON(wire.Command{Type: "subscribe", Board: board}); err != nil {
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
	if code, reason := closed(t, ws); code != wire.CloseForbidden || reason != "not_found" {
		t.Errorf("a user on a private board: closed with %d %q, want 4403 not_found", code, reason)
	}
	if status, body := h.get(t, n.URL+"/v1/realtime/token?board=staff", alice); status != http.StatusNotFound {
		t.Errorf("a user's ticket for it: got %d %s, want 404", status, body)
	}
	ws, _ = dial(t, n.live(), alice)
	if f := subscribe(t, ws, "staff"); f.ErrorCode != "not_found" {
		t.Errorf("a user's subscription to it: got %+v, want not_found", f)
	}
	if f := subscribe(t, ws, "nosuch"); f.ErrorCode != "not_found" {
		t.Errorf("an unknown board: got %+v, want not_found", f)
	}

	ws, _ = dial(t, n.live("board", "staff"), game)
	if f := frame(t, ws); f.Type != wire.MessageUpdated || f.Board != "staff" {
		t.Errorf("a server: got %+v, want the board", f)
	}
	ws, _ = dial(t, n.live("board", "staff", "token", n.ticket(t, h.token("game", auth.ScopeUpdate, time.Hour),
		"staff")), nil)
	if f := frame(t, ws); f.Type != wire.MessageUpdated || f.Board != "staff" {
		t.Errorf("a server's ticket: got %+v, want the board", f)
	}

	// A board with periods is streamed as its current period.
	ws, _ = dial(t, n.live("board", "weekly"), alice)
	if f := frame(t, ws); len(f.Board) != len("weekly:2026-w47") {
		t.Errorf("a board with periods: got board %q, want its current period", f.Board)
	}

	ws, _ = dial(t, open.live(), nil)
	if f := frame(t, ws); f.Type != wire.MessageUpdated || f.Board != "global" {
		t.Errorf("an anonymous client on a public board: got %+v, want the board", f)
	}
	ws, _ = dial(t, open.live("board", "staff"), nil)
	if code, reason := closed(t, ws); code != wire.CloseForbidden || reason != "not_found" {
		t.Errorf("an anonymous client on a private board: closed with %d %q, want 4403 not_found", code, reason)
	}
	dial(t, open.live(), nil)
	ws, _ = dial(t, open.live(), nil)
	if code, _ := closed(t, ws); code != wire.CloseLimit {
		t.Errorf("an anonymous client over the limit: closed with %d, want 4429", code)
	}
}

// For callers who may not see a private board it is as one that does not exist: the
// same responses on every route, also to writes. A player reads only the own standing.
func TestPrivateBoardsLookUnknown(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "reads-anonymous", "true", "limit-anonymous-per-minute", "0")
	private := false
	root, game := n.client("root", auth.ScopeAdmin), n.client("game", auth.ScopeUpdate)
	later := time.Now().Add(time.Hour)
	for _, b := range []client.BoardRequest{
		{Board: "hidden"},
		{Board: "hidden.daily", Period: "daily"},
		{Board: "hidden.cup", Period: "season", Season: "one", StartsAt: &later, EndsAt: timeAfter(later)},
	} {
		b.Public = &private
		if _, err := root.CreateBoard(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := game.Submit(t.Context(), client.Increment{User: "alice", Delta: 5, Board: "hidden"}); err != nil {
		t.Fatal(err)
	}
	if _, err := game.Submit(t.Context(), client.Increment{User: "mallory", Delta: 5}); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Ban(t.Context(), "mallory", "cheats"); err != nil {
		t.Fatal(err)
	}
	h.await("alice on the private board", func() bool {
		status, _ := h.get(t, n.URL+"/v1/leaderboard/me?board=hidden", bearer(h.token("alice", "", time.Hour)))
		return status == http.StatusOK
	})
	if status, body := h.get(t, n.URL+"/v1/users/alice/statement?board=hidden",
		bearer(h.token("alice", "", time.Hour))); status != http.StatusOK || !strings.Contains(body, `"hidden"`) {
		t.Errorf("alice's statement: got %d %s", status, body)
	}

	// Only those who may see the board wait for a version.
	began := time.Now()
	for _, path := range []string{"/v1/leaderboard/me", "/v1/users/bob/score"} {
		status, body := h.get(t, n.URL+path+"?board=hidden&min_version=1", bearer(h.token("bob", "", time.Hour)))
		if status != http.StatusNotFound {
			t.Errorf("%s with min_version: got %d %s, want 404", path, status, body)
		}
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("two reads with min_version took %s, want them as fast as for an unknown board", took)
	}
	status, body := h.get(t, n.URL+"/v1/leaderboard/me?board=hidden&min_version=1",
		bearer(h.token("alice", "", time.Hour)))
	if status != http.StatusOK || !strings.Contains(body, `"score":5`) {
		t.Errorf("alice's standing with min_version: got %d %s", status, body)
	}

	now := time.Now().UTC().Format(time.RFC3339)
	write := `{"user_id":"bob","event_id":"e","delta":5,"timestamp":"` + now + `","board":"BOARD"}`
	for _, ask := range []struct{ method, path, body string }{
		{"GET", "/v1/leaderboard/top?board=BOARD", ""},
		{"GET", "/v1/leaderboard/top?board=BOARD&wait=1s&after=1:1", ""},
		{"GET", "/v1/leaderboard/me?board=BOARD", ""},
		{"GET", "/v1/leaderboard/me?board=BOARD&k=1", ""},
		{"GET", "/v1/leaderboard/me?board=BOARD&min_version=1", ""},
		{"GET", "/v1/users/alice/score?board=BOARD", ""},
		{"GET", "/v1/users/bob/score?board=BOARD", ""},
		{"GET", "/v1/users/bob/score?board=BOARD&score=9", ""},
		{"GET", "/v1/users/alice/rank?board=BOARD", ""},
		{"GET", "/v1/users/bob/statement?board=BOARD", ""},
		{"GET", "/v1/users/bob/statement?board=BOARD&from=1", ""},
		{"POST", "/v1/leaderboard/users", `{"board":"BOARD","user_ids":["alice"]}`},
		{"GET", "/v1/realtime/token?board=BOARD", ""},
		{"GET", "/v1/realtime/leaderboard?board=BOARD", ""},
		{"GET", "/v1/boards?family=BOARD", ""},
		{"GET", "/v1/boards/BOARD", ""},
		{"GET", "/v1/boards/BOARD/standings", ""},
		{"POST", "/v1/scores/increment", write},
		{"POST", "/v1/scores/increment", strings.Replace(write, `"delta":5`, `"delta":50000000`, 1)},
		{"POST", "/v1/scores/increment", strings.Replace(write, `"board":"BOARD"`, `"boards":["global","BOARD"]`, 1)},
		{"POST", "/v1/actions", `{"board":"BOARD"}`},
	} {
		for _, caller := range []string{"", "bob", "mallory"} {
			header := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
			if caller != "" {
				header.Set("Authorization", "Bearer "+h.token(caller, "", time.Hour))
			}
			answer := func(board string) string {
				fill := strings.NewReplacer("BOARD", board, `"bob"`, `"`+caller+`"`, "users/bob", "users/"+caller)
				status, _, body := request(t, ask.method, n.URL+fill.Replace(ask.path), fill.Replace(ask.body), header)
				body, _, _ = strings.Cut(body, `"request_id"`)
				return fmt.Sprint(status, " ", strings.ReplaceAll(body, board, "BOARD"))
			}
			unknown := answer("nothing")
			if !strings.HasPrefix(unknown, "40") {
				t.Errorf("%s %s by %s for an unknown board: got %s", ask.method, ask.path, caller, unknown)
			}
			for _, board := range []string{"hidden", "hidden.daily", "hidden.cup"} {
				if got := answer(board); got != unknown {
					t.Errorf("%s %s by %q: %s: got %s, want %s", ask.method, ask.path, caller, board, got, unknown)
				}
			}
		}
	}
}

func timeAfter(t time.Time) *time.Time {
	after := t.Add(time.Hour)
	return &after
}

// A batch waits once for unknown boards, not for each: another node may have created
// them just now.
func TestBatchWaitsOnceForUnknownBoards(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	game := h.start(allRoles).client("game", auth.ScopeUpdate)
	ins := []client.Increment{{User: "bob", Delta: 1}}
	for i := range 40 {
		ins = append(ins, client.Increment{User: "bob", Delta: 1, Board: fmt.Sprint("unknown", i)})
	}
	began := time.Now()
	results, err := game.SubmitBatch(t.Context(), ins)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the batch took %s", took)
	}
	for i, r := range results {
		var e *client.Error
		if i == 0 && r.Err != nil || i > 0 && (!errors.As(r.Err, &e) || e.Code != "not_found") {
			t.Errorf("item %d: got %v", i, r.Err)
		}
	}
}
