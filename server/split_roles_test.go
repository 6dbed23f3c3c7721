package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/http/dialect"
)

// splitNodes are nodes with a role each, and all dialects.
func splitNodes(t *testing.T) (h *harness, api, read, gateway *node) {
	t.Helper()
	h = newHarness(t)
	h.settings["dialects"], h.settings["web-boards"] = strings.Join(config.DialectNames, ","), "global"
	h.settings["reads-anonymous"], h.settings["ingest-actions"] = "true", "*:1:100"
	return h, h.start("api,relay,projector,maintenance"), h.start("read"), h.start("gateway")
}

// streamPaths are the paths of all streams with all dialects at their default paths.
func streamPaths(t *testing.T) []string {
	t.Helper()
	flags := func(name string) (string, bool) { return strings.Join(config.DialectNames, ","), name == "dialects" }
	c, _, err := config.Load(flags, func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	paths := dialect.StreamPaths(&c.Dialects)
	for i := range paths {
		paths[i] = strings.ReplaceAll(paths[i], ":board", "global")
	}
	return paths
}

// A node without the role gateway says so at each path of a stream, whatever other route matches it.
func TestStreamsWithoutGateway(t *testing.T) {
	t.Parallel()
	h, api, read, gateway := splitNodes(t)
	token := bearer(h.token("ada", "", time.Hour))
	paths := streamPaths(t)
	if len(paths) != 5 {
		t.Fatalf("got the paths %q, want 5", paths)
	}
	for _, path := range paths {
		for _, n := range []*node{api, read} {
			for name, header := range map[string]http.Header{
				"a bearer token": token, "no token": nil, "a page": {"Origin": {"https://game.example"}},
			} {
				status, answered, body := request(t, http.MethodGet, n.URL+path, "", header)
				if status != http.StatusServiceUnavailable || !strings.Contains(body, "role gateway") ||
					answered.Get("Retry-After") == "" {
					t.Errorf("%s with %s: got %d %s, want a 503 that names the role", path, name, status, body)
				}
			}
			if ws, status := dial(t, n.URL+path, token); ws != nil || status != http.StatusServiceUnavailable {
				t.Errorf("a WebSocket to %s: got %v %d, want a 503", path, ws, status)
			}
		}
		if status, body := h.get(t, gateway.URL+path, nil); status == http.StatusServiceUnavailable ||
			status == http.StatusNotFound {
			t.Errorf("%s on the gateway: got %d %s", path, status, body)
		}
	}
	// In the shape of the dialect.
	if _, _, body := request(t, http.MethodGet, read.URL+"/v1/ws/leaderboard", "", token); !strings.Contains(body,
		`"success":false`) {
		t.Errorf("the dialect highscore: got %s, want its envelope", body)
	}
}

// Every node that serves requests issues the tickets and tokens with which a gateway opens streams.
func TestTicketsOfEveryNode(t *testing.T) {
	t.Parallel()
	h, api, read, gateway := splitNodes(t)
	bearerOf := h.token("ada", "", time.Hour)
	for name, n := range map[string]*node{"api": api, "read": read, "gateway": gateway} {
		ws, status := dial(t, gateway.live("token", n.ticket(t, bearerOf, "global")), nil)
		if ws == nil {
			t.Errorf("a ticket of the node %s: got %d", name, status)
		}
		answered, _, body := request(t, http.MethodPost, n.URL+"/delta/v1/leaderboard/ws-token", "", bearer(bearerOf))
		var got struct{ Token string }
		if err := json.Unmarshal([]byte(body), &got); err != nil || answered != http.StatusOK {
			t.Errorf("a ws-token of the node %s: got %d %s, %v", name, answered, body, err)
			continue
		}
		if ws, status = dial(t, gateway.URL+"/delta/v1/leaderboard/ws?token="+got.Token, nil); ws == nil {
			t.Errorf("a ws-token of the node %s: got %d", name, status)
		}
	}
}

// A long poll waits on nodes without the role gateway, too, and ends when the board changes.
func TestLongPollsWithoutGateway(t *testing.T) {
	t.Parallel()
	h, api, read, _ := splitNodes(t)
	game := api.client("game", auth.ScopeUpdate)
	if _, err := game.Submit(t.Context(), client.Increment{User: "ada", Delta: 5}); err != nil {
		t.Fatal(err)
	}
	token := bearer(h.token("eve", "", time.Hour))
	for i, n := range []*node{api, read} {
		var top struct{ Version, Epoch json.Number }
		h.await("a version", func() bool {
			_, _, body := request(t, http.MethodGet, n.URL+"/v1/leaderboard/top", "", token)
			return json.Unmarshal([]byte(body), &top) == nil && top.Version != "" && strings.Contains(body, "ada")
		})
		poll := n.URL + "/v1/leaderboard/top?after=" + url.QueryEscape(top.Epoch.String()+":"+top.Version.String())
		began := time.Now()
		status, _, body := request(t, http.MethodGet, poll+"&wait=1s", "", token)
		if took := time.Since(began); status != http.StatusNotModified || took < 900*time.Millisecond {
			t.Errorf("node %d without a change: got %d %s after %s, want a 304 after a second", i, status, body, took)
		}
		changed := make(chan struct{})
		time.AfterFunc(200*time.Millisecond, func() {
			defer close(changed)
			_, _ = game.Submit(t.Context(), client.Increment{User: "ada", Delta: 5})
		})
		began = time.Now()
		status, _, body = request(t, http.MethodGet, poll+"&wait=25s", "", token)
		if took := time.Since(began); status != http.StatusOK || took > 15*time.Second {
			t.Errorf("node %d with a change: got %d %s after %s", i, status, body, took)
		}
		<-changed
	}
}

// Lines about requests have their id and that of the trace, without tracing, too; those of the dialect
// delta have it under the key that its specification names, as well.
func TestRequestLogsHaveTheTrace(t *testing.T) {
	t.Parallel()
	h, _, read, _ := splitNodes(t)
	token := bearer(h.token("ada", "", time.Hour))
	for path, delta := range map[string]bool{"/delta/v1/leaderboard/ws": true, "/leaderboard/stream": false} {
		_, header, _ := request(t, http.MethodGet, read.URL+path, "", token)
		trace := strings.Split(header.Get("Traceparent"), "-")[1]
		found := false
		for line := range strings.Lines(read.Log()) {
			if !strings.Contains(line, "request failed") || !strings.Contains(line, `"`+path+`"`) {
				continue
			}
			found = true
			if !strings.Contains(line, `"request_id":"`+header.Get("X-Request-Id")+`"`) ||
				!strings.Contains(line, `"trace_id":"`+trace+`"`) ||
				strings.Contains(line, `"traceId":"`+trace+`"`) != delta || strings.Count(line, `"trace_id"`) != 1 {
				t.Errorf("%s: got %s, want the ids %s and %s", path, line, header.Get("X-Request-Id"), trace)
			}
		}
		if !found {
			t.Errorf("%s: its failure is not in the log", path)
		}
	}
}
