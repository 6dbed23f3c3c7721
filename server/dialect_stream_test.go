package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/server/http/auth"
)

// next reads the next message of a WebSocket, with its times replaced.
func next(t *testing.T, ws *websocket.Conn) string {
	t.Helper()
	_, message, err := ws.ReadMessage()
	if err != nil {
		t.Fatalf("read a frame: %v", err)
	}
	return stable(string(message))
}

// rejectedWith dials and returns the code of the close, or the status of the response. A
// dialect sends nothing but the close.
func rejectedWith(t *testing.T, url string, header http.Header) int {
	t.Helper()
	ws, status := dial(t, url, header)
	if ws == nil {
		return status
	}
	_, message, err := ws.ReadMessage()
	if strings.Contains(url, "/v1/realtime/") {
		_, message, err = ws.ReadMessage() // after the error
	}
	c, ok := err.(*websocket.CloseError) //nolint:errorlint // the library returns it as it is
	if !ok {
		t.Fatalf("got %s, %v, want a close", message, err)
	}
	return c.Code
}

// A client of specification C follows the rows with tokens of the server.
func TestDeltaStream(t *testing.T) {
	t.Parallel()
	h, n := dialectNode(t, "realtime-origins", page)
	other := h.start(gatewayOnly, "dialects", "delta")
	alice := h.token("alice", "", time.Hour)
	submit := func(user, action string, delta int) {
		t.Helper()
		body := fmt.Sprintf(`{"userId":%q,"scoreDelta":%d,"actionId":%q,"timestamp":"2025-09-28T06:00:00Z"}`, user,
			delta, action)
		status, _, answer := request(t, http.MethodPost, n.URL+"/delta/v1/score/update", body,
			bearer(h.token(user, "", time.Hour)))
		if status != http.StatusOK {
			t.Fatalf("submit: got %d %s", status, answer)
		}
	}
	var used []string
	token := func(user string) string {
		t.Helper()
		status, _, answer := request(t, http.MethodPost, n.URL+"/delta/v1/leaderboard/ws-token", "",
			bearer(h.token(user, "", time.Hour)))
		var got struct {
			Token     string
			ExpiresAt time.Time
		}
		if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusOK ||
			time.Until(got.ExpiresAt) < 50*time.Second || time.Until(got.ExpiresAt) > time.Minute {
			t.Fatalf("token: got %d %s, %v, want one for a minute", status, answer, err)
		}
		used = append(used, got.Token)
		return got.Token
	}
	at := func(n *node, token string) string { return n.URL + "/delta/v1/leaderboard/ws?token=" + token }
	rows := func(rows string) string { return `{"type":"leaderboard_update","top":[` + rows + `],"asOf":"TIME"}` }
	first := `{"rank":1,"userId":"alice","username":"alice","score":5}`

	submit("alice", "a-1", 5)
	h.await("the row", func() bool {
		_, body := h.get(t, other.URL+"/delta/v1/leaderboard/top", bearer(alice))
		return strings.Contains(body, `"score":5`)
	})
	one := token("alice")
	ws, _ := dial(t, at(other, one), nil) // another node than the one that issued it
	if got := next(t, ws); got != rows(first) {
		t.Errorf("on connect: got %s, want %s", got, rows(first))
	}
	submit("bob", "b-1", 7)
	want := rows(`{"rank":1,"userId":"bob","username":"bob","score":7},` + strings.Replace(first, ":1,", ":2,", 1))
	if got := next(t, ws); got != want {
		t.Errorf("after a change: got %s, want %s", got, want)
	}
	// The token lives until it expires: its client may reconnect, on any node.
	again, _ := dial(t, at(n, one), nil)
	if got := next(t, again); got != want {
		t.Errorf("with the token again: got %s, want %s", got, want)
	}
	ticket := n.ticket(t, alice, "global")
	for name, c := range map[string]struct {
		url    string
		header http.Header
		want   int
	}{
		"no token":                   {at(n, ""), nil, 4401},
		"an invented one":            {at(n, "a.b.c"), nil, 4401},
		"a bearer token":             {at(n, alice), nil, 4401},
		"a bearer token to join":     {at(n, h.token("alice", auth.ScopeJoin, time.Hour)), nil, 4401},
		"a native ticket":            {at(n, ticket), nil, 4401},
		"its token at the native":    {n.live("token", token("carol")), nil, 4401},
		"another user's header":      {at(n, token("carol")), bearer(alice), 4403},
		"a page of another origin":   {at(n, token("carol")), http.Header{"Origin": {"https://evil.example"}}, 401},
		"its token at highscore":     {n.URL + "/v1/ws/leaderboard?token=" + token("carol"), nil, 4401},
		"two parameters of the name": {at(n, "") + "a.b.c&token=" + token("carol"), nil, 4401},
	} {
		if got := rejectedWith(t, c.url, c.header); got != c.want {
			t.Errorf("%s: closed with %d, want %d", name, got, c.want)
		}
	}
	for _, path := range []string{"/delta/v1/leaderboard/top", "/v1/leaderboard/top"} {
		if status, body := h.get(t, n.URL+path, bearer(token("carol"))); status != http.StatusUnauthorized {
			t.Errorf("the token at %s: got %d %s, want 401", path, status, body)
		}
	}
	for name, c := range map[string]struct {
		header http.Header
		want   int
	}{
		"without a token":             {nil, 401},
		"with one that only joins":    {bearer(h.token("alice", auth.ScopeJoin, time.Hour)), 401},
		"with a stream token":         {bearer(token("carol")), 401},
		"with one that ends sooner":   {bearer(h.token("alice", "", 10*time.Second)), 200},
		"with a server's own bearers": {bearer(h.token("game", auth.ScopeUpdate, time.Hour)), 200},
	} {
		status, _, answer := request(t, http.MethodPost, n.URL+"/delta/v1/leaderboard/ws-token", "", c.header)
		if status != c.want {
			t.Errorf("a token %s: got %d %s, want %d", name, status, answer, c.want)
		}
	}

	// Three connections of a user on all nodes together.
	for _, node := range []*node{n, other, n} {
		ws, _ := dial(t, at(node, token("dave")), nil)
		next(t, ws)
	}
	for _, node := range []*node{n, other} {
		if got := rejectedWith(t, at(node, token("dave")), nil); got != 4429 {
			t.Errorf("a fourth connection: closed with %d, want 4429", got)
		}
	}
	h.hides(t, []*node{n, other}, append(used, alice))
}

// hides stops nodes after reading their metrics, and fails if these or their logs contain
// one of the tokens, or its signature.
func (h *harness) hides(t *testing.T, nodes []*node, tokens []string) {
	t.Helper()
	said := ""
	for _, n := range nodes {
		_, _, metrics := request(t, http.MethodGet, n.Ops+"/metrics", "", nil)
		n.stop()
		said += metrics + n.Log()
	}
	if !strings.Contains(said, "leaderboard") {
		t.Error("the log at level debug has no line of a request")
	}
	for _, token := range tokens {
		if strings.Contains(said, token) || strings.Contains(said, token[strings.LastIndex(token, ".")+1:]) {
			t.Errorf("a token is in a log or a metric: %s", token)
		}
	}
}

// A client of specification B follows the rows and its user's score with the bearer token
// in the query.
func TestHighscoreStream(t *testing.T) {
	t.Parallel()
	h, n := dialectNode(t)
	token := h.token("p1", "", time.Hour)
	submit := func(user, action string, score int) {
		t.Helper()
		header := bearer(h.token(user, "", time.Hour))
		start := fmt.Sprintf(`{"action_id":%q}`, action)
		_, _, answer := request(t, http.MethodPost, n.URL+"/v1/actions", start, header)
		var started struct {
			ActionToken string `json:"action_token"`
		}
		if err := json.Unmarshal([]byte(answer), &started); err != nil || started.ActionToken == "" {
			t.Fatalf("start an action: got %s, %v", answer, err)
		}
		body := fmt.Sprintf(`{"action_id":%q,"action_token":%q,"new_score":%d,"timestamp":"2026-02-02T10:30:00Z"}`,
			action, started.ActionToken, score)
		status, _, answer := request(t, http.MethodPost, n.URL+"/v1/scores/update", body, header)
		if status != http.StatusOK {
			t.Fatalf("submit: got %d %s", status, answer)
		}
	}
	submit("p1", "act-1", 100)
	submit("p2", "act-2", 200)
	h.await("the rows", func() bool {
		_, body := h.get(t, n.URL+"/v1/leaderboard", bearer(token))
		return strings.Contains(body, `"p1"`) && strings.Contains(body, `"p2"`)
	})
	const path = "/v1/ws/leaderboard"
	row := func(rank int, user string, score int) string {
		return fmt.Sprintf(`{"rank":%d,"player_id":%q,"username":%q,"score":%d}`, rank, user, user, score)
	}
	update := func(rows ...string) string {
		return `{"type":"LEADERBOARD_UPDATE","data":{"entries":[` + strings.Join(rows, ",") + `],"updated_at":"TIME"}}`
	}
	ws, _ := dial(t, n.URL+path+"?token="+token, nil)
	if got, want := next(t, ws), update(row(1, "p2", 200), row(2, "p1", 100)); got != want {
		t.Errorf("on connect: got %s, want %s", got, want)
	}
	byHeader, _ := dial(t, n.URL+path, bearer(token))
	next(t, byHeader)
	submit("p1", "act-3", 300)
	want := []string{
		update(row(1, "p1", 300), row(2, "p2", 200)),
		`{"type":"SCORE_UPDATE","data":{"player_id":"p1","new_score":300,"new_rank":1,"rank_change":"+1"}}`,
	}
	if got := []string{next(t, ws), next(t, ws)}; !slices.Equal(got, want) {
		t.Errorf("after a change: got %s, want %s", got, want)
	}
	for range 3 {
		ws, _ := dial(t, n.URL+path+"?token="+token, nil)
		next(t, ws)
	}
	expired, wide := h.token("p1", "", -time.Minute), h.token("p1", strings.Repeat("scope ", 300), time.Hour)
	if len(wide) < 1500 {
		t.Fatalf("a token of %d bytes is not a long one", len(wide))
	}
	for name, c := range map[string]struct {
		query string
		want  int
	}{
		"a sixth connection":           {"token=" + token, 4429},
		"also with another token":      {"token=" + wide, 4429},
		"no token":                     {"", 4401},
		"an expired one":               {"token=" + expired, 4401},
		"an invented one":              {"token=" + token[:len(token)-9] + "AAAAAAAAA", 4401},
		"a ticket":                     {"token=" + n.ticket(t, token, "highscore"), 4401},
		"another parameter":            {"board=other&token=" + token, 4403},
		"the parameter twice":          {"token=" + token + "&token=" + token, 4403},
		"a token that is far too long": {"token=" + strings.Repeat("a", 5000), 4403},
	} {
		if got := rejectedWith(t, n.URL+path+"?"+c.query, nil); got != c.want {
			t.Errorf("%s: closed with %d, want %d", name, got, c.want)
		}
	}
	// No other path accepts it in the query, and no response repeats it.
	for path, want := range map[string]int{
		path: 400, "/v1/scores/me/rank": 400, "/v1/leaderboard": 400, "/v1/leaderboard/me": 400, "/scores/none": 404,
		"/leaderboard/p1": 401, "/delta/v1/leaderboard/top": 200, "/leaderboard/stream": 401,
		"/v1/realtime/leaderboard": 401,
	} {
		status, header, body := request(t, http.MethodGet, n.URL+path+"?token="+token, "", nil)
		said := bytes.Buffer{}
		_ = header.Write(&said) // a buffer
		if status != want || strings.Contains(said.String()+body, token) {
			t.Errorf("GET %s: got %d %s%s, want %d without the token", path, status, said.String(), body, want)
		}
	}
	h.hides(t, []*node{n}, []string{token, wide, expired})
}

// A client of specification E follows the rows as events.
func TestPlainStream(t *testing.T) {
	t.Parallel()
	h, n := dialectNode(t)
	token := h.token("123", "", time.Hour)
	submit := func(user string, score int) {
		t.Helper()
		status, _, answer := request(t, http.MethodPost, n.URL+"/scores", fmt.Sprintf(`{"score":%d}`, score),
			bearer(h.token(user, "", time.Hour)))
		if status != http.StatusOK {
			t.Fatalf("submit: got %d %s", status, answer)
		}
	}
	open := func(url string, header http.Header) func() (id, data string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
			t.Fatalf("got %d %s, want events", res.StatusCode, res.Header.Get("Content-Type"))
		}
		lines := bufio.NewScanner(res.Body)
		return func() (id, data string) {
			t.Helper()
			kind := ""
			for lines.Scan() {
				name, value, _ := strings.Cut(lines.Text(), ": ")
				switch name {
				case "event":
					kind = value
				case "id":
					id = value
				case "data":
					data = value
				case "":
					if data != "" && kind == "leaderboard" {
						return id, stable(data)
					}
				}
			}
			t.Fatalf("the stream has ended: %v", lines.Err())
			return "", ""
		}
	}
	submit("123", 4500)
	h.await("the row", func() bool {
		_, body := h.get(t, n.URL+"/leaderboard/top", bearer(token))
		return strings.Contains(body, `4500`)
	})
	const path = "/leaderboard/stream"
	row := func(id, name string, score, rank int) string {
		return fmt.Sprintf(`{"userId":%s,"nickName":%q,"score":%d,"rank":%d,"updatedAt":"TIME"}`, id, name, score, rank)
	}
	read := open(n.URL+path, bearer(token))
	id, data := read()
	if want := "[" + row("123", "123", 4500, 1) + "]"; data != want || id == "" {
		t.Errorf("on connect: got %s with the id %q, want %s", data, id, want)
	}
	resumed := bearer(token)
	resumed.Set("Last-Event-ID", id)
	again := open(n.URL+path, resumed)
	byTicket := open(n.URL+path+"?token="+n.ticket(t, token, "plain"), http.Header{})
	byTicket()
	submit("ada", 4600)
	want := "[" + row(`"ada"`, "ada", 4600, 1) + "," + row("123", "123", 4500, 2) + "]"
	for name, read := range map[string]func() (id, data string){"open": read, "resumed": again, "by ticket": byTicket} {
		if _, data := read(); data != want {
			t.Errorf("%s, the next event: got %s, want %s", name, data, want)
		}
	}
	for name, c := range map[string]struct {
		query  string
		header http.Header
		want   int
	}{
		"no token":               {"", nil, 401},
		"a bearer token in it":   {"?token=" + token, nil, 401},
		"another board's ticket": {"?token=" + n.ticket(t, token, "global"), nil, 403},
		"another origin":         {"", http.Header{"Origin": {"https://evil.example"}}, 403},
	} {
		if status, body := h.get(t, n.URL+path+c.query, c.header); status != c.want {
			t.Errorf("%s: got %d %s, want %d", name, status, body, c.want)
		}
	}
}
