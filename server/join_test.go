package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	gatewayOnly = "gateway,read"
	allRoles    = "api,relay,projector,gateway,maintenance"
	page        = "https://game.example"
)

func scoreboardUser(s string) scoreboard.UserID { return scoreboard.UserID(s) }

// ticket gets a realtime ticket from the API.
func (n *node) ticket(t *testing.T, token, board string) string {
	t.Helper()
	status, body := n.h.get(t, n.URL+"/v1/realtime/token?board="+board, bearer(token))
	var ticket wire.JoinTicket
	if err := json.Unmarshal([]byte(body), &ticket); err != nil || status != http.StatusOK {
		t.Fatalf("ticket: got %d %s, %v", status, body, err)
	}
	if ttl := time.Until(ticket.ExpiresAt); ttl < 20*time.Second || ttl > 30*time.Second {
		t.Errorf("the ticket expires in %s, want 30 s", ttl)
	}
	return ticket.Token
}

func (n *node) live(pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return n.URL + "/v1/realtime/leaderboard?" + q.Encode()
}

// dial opens a WebSocket, or returns the status that rejected it.
func dial(t *testing.T, address string, header http.Header) (*websocket.Conn, int) {
	t.Helper()
	ws, res, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(address, "http"), header)
	if err != nil {
		if res == nil {
			t.Fatalf("dial: %v", err)
		}
		_ = res.Body.Close()
		return nil, res.StatusCode
	}
	t.Cleanup(func() { _ = ws.Close() })
	_ = ws.SetReadDeadline(time.Now().Add(awaitTimeout))
	return ws, res.StatusCode
}

func frame(t *testing.T, ws *websocket.Conn) (f wire.Message) {
	t.Helper()
	if err := ws.ReadJSON(&f); err != nil {
		t.Fatalf("read a frame: %v", err)
	}
	return f
}

// closed reads until the connection is closed.
func closed(t *testing.T, ws *websocket.Conn) (code int, reason string) {
	t.Helper()
	for {
		if _, _, err := ws.ReadMessage(); err != nil {
			var c *websocket.CloseError
			if !errors.As(err, &c) {
				t.Fatalf("closed without a code: %v", err)
			}
			return c.Code, c.Text
		}
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "realtime-origins", page, "log-level", "debug")
	other := h.start(gatewayOnly)
	alice := h.token("alice", "", time.Hour)
	events := func(header http.Header) http.Header {
		header = header.Clone()
		if header == nil {
			header = http.Header{}
		}
		header.Set("Accept", "text/event-stream")
		return header
	}
	if _, err := n.client("game", auth.ScopeUpdate).Submit(t.Context(),
		client.Increment{User: "bob", Delta: 5}); err != nil {
		t.Fatal(err)
	}
	var tickets []string
	take := func(t *testing.T, board string) string {
		t.Helper()
		ticket := n.ticket(t, alice, board)
		tickets = append(tickets, ticket)
		return ticket
	}

	t.Run("a ticket opens one WebSocket, on any node", func(t *testing.T) {
		ticket := take(t, "global")
		ws, _ := dial(t, other.live("token", ticket), nil)
		if f := frame(t, ws); f.Type != wire.MessageUpdated || f.Board != "global" {
			t.Errorf("got %+v, want a snapshot", f)
		}
		for _, node := range []*node{n, other} {
			again, _ := dial(t, node.live("token", ticket), nil)
			if f := frame(t, again); f.Type != wire.MessageError || f.ErrorCode != "token_used" || f.Message == "" {
				t.Errorf("again: got %+v, want the error", f)
			}
			if code, reason := closed(t, again); code != wire.CloseToken || reason != "token_used" {
				t.Errorf("again: closed with %d %q, want 4401 token_used", code, reason)
			}
		}
		for node, status := range map[*node]string{n: "409", other: "101"} {
			series := `route="/v1/realtime/leaderboard",status="` + status + `"`
			count := func() float64 { return node.metric(t, "scoreboard_api_request_seconds_count", series) }
			// A request is counted after its response.
			h.await("the request to be counted", func() bool { return count() > 0 })
			if got := count(); got != 1 {
				t.Errorf("%v requests were counted with %s, want 1", got, status)
			}
		}
		if err := ws.WriteJSON(wire.Command{Type: "subscribe", Board: "daily"}); err != nil {
			t.Fatal(err)
		}
		f := frame(t, ws)
		for f.Type == wire.MessageUpdated {
			f = frame(t, ws)
		}
		if f.ErrorCode != "forbidden" {
			t.Errorf("another board over the ticket's connection: got %+v, want forbidden", f)
		}
	})

	t.Run("a ticket resumes events from its address", func(t *testing.T) {
		ticket := take(t, "global")
		for range 2 {
			if status, body := h.get(t, n.live("token", ticket), events(nil)); status != http.StatusOK {
				t.Errorf("got %d %s", status, body)
			}
		}
		ws, _ := dial(t, n.live("token", ticket), nil)
		if code, reason := closed(t, ws); code != wire.CloseToken || reason != "token_used" {
			t.Errorf("then by WebSocket: closed with %d %q, want 4401", code, reason)
		}
	})

	ofGlobal := take(t, "global")
	bobs := bearer(h.token("bob", "", time.Hour))
	refused := []struct {
		name   string
		query  []string
		header http.Header
		close  int
		status int
		code   string
	}{
		{"no token", nil, nil, 4401, 401, "unauthorized"},
		{"bad bearer", nil, bearer("nonsense"), 4401, 401, "unauthorized"},
		{"expired bearer", nil, bearer(h.token("alice", "", -time.Minute)), 4401, 401, "unauthorized"},
		{"invented ticket", []string{"token", "ABCDEF"}, nil, 4401, 401, "unauthorized"},
		{"empty ticket", []string{"token", ""}, nil, 4401, 401, "unauthorized"},
		{"ticket of another board", []string{"token", ofGlobal, "board", "daily"}, nil, 4403, 403, "forbidden"},
		{"unknown board", []string{"board", "nosuch"}, bearer(alice), 4403, 404, "not_found"},
		{"invalid board name", []string{"board", "NO!"}, bearer(alice), 4403, 400, "invalid_request"},
		{"unsupported limit", []string{"limit", "7"}, bearer(alice), 4403, 400, "invalid_request"},
		{"another user's ticket", []string{"token", take(t, "global")}, bobs, 4403, 403, "forbidden"},
	}
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			ws, status := dial(t, n.live(c.query...), c.header)
			if ws == nil {
				t.Fatalf("rejected with %d before the upgrade", status)
			}
			if code, reason := closed(t, ws); code != c.close || reason != c.code {
				t.Errorf("WebSocket: closed with %d %q, want %d %s", code, reason, c.close, c.code)
			}
			if c.name == "another user's ticket" {
				return // the WebSocket has used it
			}
			status, body := h.get(t, n.live(c.query...), events(c.header))
			var e wire.Error
			if err := json.Unmarshal([]byte(body), &e); err != nil || status != c.status || e.ErrorCode != c.code {
				t.Errorf("events: got %d %s, want %d %s", status, body, c.status, c.code)
			}
		})
	}

	t.Run("foreign origin", func(t *testing.T) {
		ticket := take(t, "global")
		for _, origin := range []string{
			"https://evil.example", page + ".evil.example", strings.ToUpper(page),
			page + ":443", "null", page + "/",
		} {
			header := http.Header{"Origin": {origin}}
			if ws, status := dial(t, n.live("token", ticket), header); ws != nil || status != http.StatusForbidden {
				t.Errorf("%s: got %d, want 403 before the upgrade", origin, status)
			}
			if status, _ := h.get(t, n.live("token", ticket), events(header)); status != http.StatusForbidden {
				t.Errorf("%s: events got %d, want 403", origin, status)
			}
		}
		ws, _ := dial(t, n.live("token", ticket), http.Header{"Origin": {page}})
		frame(t, ws)
	})

	t.Run("only the allowed origin may send requests", func(t *testing.T) {
		for origin, want := range map[string]string{page: page, "https://evil.example": ""} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, n.URL+"/v1/realtime/token", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{
				"Origin": {origin}, "Access-Control-Request-Method": {"GET"},
				"Access-Control-Request-Headers": {"authorization"},
			}
			req.Close = true
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if got := res.Header.Get("Access-Control-Allow-Origin"); got != want || res.Header.Get("Vary") != "Origin" {
				t.Errorf("%s: got %d and the allowed origin %q, want %q", origin, res.StatusCode, got, want)
			}
		}
	})

	t.Run("a connection ends with its bearer token", func(t *testing.T) {
		const ttl = 8 * time.Second // enough for a busy machine to connect in
		ticket := n.ticketOf(t, h.token("carol", "", ttl), ttl)
		ws, _ := dial(t, n.live("token", ticket), nil)
		if code, reason := closed(t, ws); code != wire.CloseToken || reason != "token expired" {
			t.Errorf("closed with %d %q, want 4401 token expired", code, reason)
		}
	})

	n.stop()
	other.stop()
	said := n.Log() + other.Log()
	if !strings.Contains(said, "/v1/realtime/leaderboard") {
		t.Error("the log at level debug has no line of a join")
	}
	for _, ticket := range tickets {
		if strings.Contains(said, ticket) {
			t.Errorf("a ticket is in a log:\n%s", said)
		}
	}
}

// ticketOf gets a ticket for a bearer token that expires within ttl, before a ticket would.
func (n *node) ticketOf(t *testing.T, token string, ttl time.Duration) string {
	t.Helper()
	status, body := n.h.get(t, n.URL+"/v1/realtime/token", bearer(token))
	var ticket wire.JoinTicket
	if err := json.Unmarshal([]byte(body), &ticket); err != nil || status != http.StatusOK ||
		time.Until(ticket.ExpiresAt) > ttl {
		t.Fatalf("ticket: got %d %s, %v, want one that ends with its token", status, body, err)
	}
	return ticket.Token
}
