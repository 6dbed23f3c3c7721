package server_test

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// events opens an event stream and returns what reads the id and the data of its next event.
func events(t *testing.T, address string, header http.Header) func() (id, data string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header.Clone()
	req.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%s: got %d %s, want events", address, res.StatusCode, res.Header.Get("Content-Type"))
	}
	lines := bufio.NewScanner(res.Body)
	return func() (id, data string) {
		t.Helper()
		for lines.Scan() {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "id":
				id = value
			case "data":
				data = value
			case "":
				if id != "" && data != "" {
					return id, data
				}
				data = ""
			}
		}
		t.Fatalf("%s: the stream has ended: %v", address, lines.Err())
		return "", ""
	}
}

// Every event stream goes on behind the last event that the client names, in the header or in
// either parameter: event-source-polyfill sends lastEventId, and a 400 would stop it for ever.
func TestStreamsResumeByEveryName(t *testing.T) {
	t.Parallel()
	h, n := dialectNode(t, "web-boards", "global")
	game := n.client("game", auth.ScopeUpdate)
	streams := map[string]string{
		"/v1/realtime/leaderboard": "global", "/v1/realtime/pages/global": "global", "/leaderboard/stream": "plain",
	}
	submit := func(delta int64) {
		t.Helper()
		for _, board := range []string{"global", "plain"} {
			in := client.Increment{User: "ada", Board: board, Delta: delta}
			if _, err := game.Submit(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
	}
	submit(1001)
	h.ranked(n, "global", "ada", 1001)
	h.ranked(n, "plain", "ada", 1001)
	h.await("the board to be healthy", func() bool {
		_, body := h.get(t, n.URL+"/v1/leaderboard/top", bearer(h.token("reader", "", time.Hour)))
		return strings.Contains(body, `"board_state":"HEALTHY"`)
	})
	next := make(map[string]func() (id, data string))
	for path, board := range streams {
		token := bearer(h.token("viewer-of-"+board+strings.ReplaceAll(path, "/", "-"), "", time.Hour))
		id, data := events(t, n.URL+path, token)()
		if !strings.Contains(data, "1001") {
			t.Fatalf("%s: got %s first, want the row", path, data)
		}
		named := token.Clone()
		named.Set("Last-Event-ID", id)
		next[path+" with the header"] = events(t, n.URL+path, named)
		for _, name := range []string{"lastEventId", "last_event_id"} {
			next[path+" with "+name] = events(t, n.URL+path+"?"+name+"="+url.QueryEscape(id), token)
		}
	}
	submit(2002)
	for name, read := range next {
		_, data := read()
		for strings.Contains(data, "board_state") && !strings.Contains(data, "3003") {
			_, data = read() // on a busy machine a board may fall behind for a moment
		}
		if !strings.Contains(data, "3003") && !strings.Contains(data, "2002") {
			t.Errorf("%s: got %s first, want only what has changed", name, data)
		}
	}
}
