package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// wrongTime matches a time that nothing happened at: the zero time, the start of Unix
// time, and an age of at least 28 hours.
var wrongTime = regexp.MustCompile(`"(0001|1970)-01-01T|"age_ms":(-|\d{9,})`)

// times reads everything that a node sends for a while and reports wrong times.
type times struct {
	t     *testing.T
	node  *node
	token http.Header
	paths []string

	mu    sync.Mutex
	reads map[string]int // answers with status 200 by path, and frames by kind of stream
	wrong map[string]string
}

// paths lists the GET routes of the API from its description, with values for their
// parameters.
func (n *node) paths(t *testing.T) (paths []string) {
	t.Helper()
	_, _, body := request(t, http.MethodGet, n.URL+"/openapi.json", "", nil)
	var description struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal([]byte(body), &description); err != nil {
		t.Fatal(err)
	}
	values := strings.NewReplacer("{board}", "global", "{user_id}", "alice", "{event_id}", "first", "{id}", "1")
	for path, methods := range description.Paths {
		if methods["get"] != nil && path != "/v1/realtime/leaderboard" && path != "/openapi.json" &&
			path != "/asyncapi.json" &&
			path != "/" && !strings.HasPrefix(path, "/docs") {
			paths = append(paths, values.Replace(path))
		}
	}
	paths = append(paths, "/v1/leaderboard/top?limit=1", "/v1/leaderboard/top?board=empty",
		"/v1/users/alice/rank?k=3", "/v1/users/nobody/rank?score=5")
	slices.Sort(paths)
	return paths
}

func (w *times) check(source string, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads[source]++
	if at := wrongTime.FindIndex(body); at != nil && w.wrong[source] == "" {
		w.wrong[source] = string(body[max(0, at[0]-200):min(len(body), at[1]+100)])
	}
}

// read requests every path once. A node that is starting may not answer.
func (w *times) read() {
	ask := func(method, path, body string) {
		req, err := http.NewRequestWithContext(w.t.Context(), method, w.node.URL+path, strings.NewReader(body))
		if err != nil {
			w.t.Error(err)
			return
		}
		req.Header = w.token.Clone()
		req.Header.Set("Content-Type", "application/json")
		req.Close = true
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return
		}
		defer func() { _ = res.Body.Close() }()
		if answer, err := io.ReadAll(res.Body); err == nil && res.StatusCode == http.StatusOK {
			w.check(path, answer)
		}
	}
	for _, path := range w.paths {
		ask(http.MethodGet, path, "")
	}
	ask(http.MethodPost, "/v1/leaderboard/users", `{"user_ids":["alice","nobody"]}`)
}

// watch follows the board over a WebSocket and an event stream until stop is closed.
func (w *times) watch(stop <-chan struct{}) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		for ; !closedNow(stop); time.Sleep(50 * time.Millisecond) {
			ws, res, err := websocket.DefaultDialer.DialContext(w.t.Context(),
				"ws"+strings.TrimPrefix(w.node.URL, "http")+"/v1/realtime/leaderboard", w.token)
			if res != nil {
				_ = res.Body.Close()
			}
			if err != nil {
				continue
			}
			_ = ws.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
			for {
				_, frame, err := ws.ReadMessage()
				if err != nil {
					break
				}
				w.check("ws", frame)
			}
			_ = ws.Close()
		}
	})
	all.Go(func() {
		header := w.token.Clone()
		header.Set("Accept", "text/event-stream")
		for ; !closedNow(stop); time.Sleep(50 * time.Millisecond) {
			req, err := http.NewRequestWithContext(
				w.t.Context(), http.MethodGet, w.node.URL+"/v1/realtime/leaderboard", http.NoBody)
			if err != nil {
				w.t.Error(err)
				return
			}
			req.Header, req.Close = header, true
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				continue
			}
			end := time.AfterFunc(500*time.Millisecond, func() { _ = res.Body.Close() })
			events, _ := io.ReadAll(res.Body)
			end.Stop()
			if res.StatusCode == http.StatusOK && strings.Contains(string(events), "data:") {
				w.check("sse", events)
			}
		}
	})
}

func closedNow(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Nothing that the API sends has a zero time or an absurd age: right after the first
// start, after Redis was emptied and the node replaced, and after Redis returned with an
// old state.
func TestEveryTimeIsReal(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	rdb := backends.RedisClient(t, h.redis.URL)
	scopes := auth.ScopeAdmin + " " + auth.ScopeUpdate
	n := h.launch(allRoles)
	w := &times{
		t: t, node: n, token: bearer(h.token("alice", scopes, time.Hour)),
		paths: []string{"/v1/leaderboard/top", "/v1/leaderboard/top?limit=1", "/v1/boards", "/v1/admin/status"},
		reads: map[string]int{}, wrong: map[string]string{},
	}
	phase := func(what string, d time.Duration) {
		t.Helper()
		stop := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() { w.watch(stop) })
		for end := time.Now().Add(d); time.Now().Before(end); {
			w.read()
		}
		close(stop)
		all.Wait()
		if w.reads["/v1/leaderboard/top"] == 0 || w.reads["ws"] == 0 || w.reads["sse"] == 0 {
			t.Errorf("%s: too little was read: %v", what, w.reads)
		}
		for source, body := range w.wrong {
			t.Errorf("%s: %s has a wrong time: …%s…", what, source, body)
		}
		clear(w.reads)
		clear(w.wrong)
	}
	phase("the first start", 3*time.Second)

	root := n.client("alice", scopes)
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{Board: "empty"}); err != nil {
		t.Fatal(err)
	}
	for i, user := range []string{"alice", "bob", "carol"} {
		increment := client.Increment{User: user, Delta: int64(1 + i), EventID: "first"}
		if _, err := root.Submit(t.Context(), increment); err != nil {
			t.Fatal(err)
		}
	}
	w.paths = n.paths(t)
	if len(w.paths) < 25 {
		t.Fatalf("the API describes %d GET routes: %q", len(w.paths), w.paths)
	}
	phase("with scores", 2*time.Second)
	if err := rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	phase("Redis emptied", 2*time.Second)
	n.stop()
	if err := rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	w.node = h.launch(allRoles)
	phase("Redis emptied and the node replaced", 3*time.Second)
	h.redis.Stop()
	h.redis.Start()
	phase("Redis returned with an old state", 3*time.Second)
}
