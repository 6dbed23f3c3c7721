package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// dialectRequests has a valid request of alice to each route of the dialects that is not a
// stream; TOKEN stands for an action token.
var dialectRequests = map[string]string{ // body by method and path
	"POST /v1/scores/update": `{"action_id":"m1","action_token":"TOKEN","new_score":5,"timestamp":` +
		`"2026-01-01T00:00:00Z"}`,
	"GET /v1/leaderboard":    "",
	"GET /v1/scores/me/rank": "",
	"POST /delta/v1/score/update": `{"userId":"alice","scoreDelta":5,"actionId":"d1","timestamp":` +
		`"2026-01-01T00:00:00Z"}`,
	"GET /delta/v1/leaderboard/top":       "",
	"GET /delta/v1/users/alice/score":     "",
	"POST /delta/v1/leaderboard/ws-token": "",
	"POST /api/v1/scores/update": `{"userId":"alice","actionId":"win","scoreIncrement":5,"timestamp":` +
		`"2026-01-01T00:00:00Z"}`,
	"POST /scores":           `{"score":5}`,
	"GET /leaderboard/top":   "",
	"GET /leaderboard/alice": "",
}

// startAction returns an action token of a user.
func (n *node) startAction(t *testing.T, user, body string) string {
	t.Helper()
	_, _, answer := request(t, http.MethodPost, n.URL+"/v1/actions", body, bearer(n.h.token(user, "", time.Hour)))
	var started struct {
		ActionToken string `json:"action_token"`
	}
	if err := json.Unmarshal([]byte(answer), &started); err != nil || started.ActionToken == "" {
		t.Fatalf("start an action: got %s, %v", answer, err)
	}
	return started.ActionToken
}

// sendAll sends the request of each route and returns the statuses, and those of the
// responses with Retry-After as negative numbers.
func (n *node) sendAll(t *testing.T, header http.Header, token string) map[string]int {
	t.Helper()
	statuses := make(map[string]int)
	for _, route := range slices.Sorted(maps.Keys(dialectRequests)) {
		method, path, _ := strings.Cut(route, " ")
		body := strings.Replace(dialectRequests[route], "TOKEN", token, 1)
		status, answer, _ := request(t, method, n.URL+path, body, header)
		if answer.Get("Retry-After") != "" {
			status = -status
		}
		statuses[route] = status
	}
	return statuses
}

// Every route of every dialect needs a token that may do more than join, hides private
// boards and banned users, and counts in the limits of the native routes. Pages of allowed
// origins may send its headers.
func TestDialectRoutesAreProtected(t *testing.T) {
	t.Parallel()
	h, n := dialectNode(t, "realtime-origins", page)
	_, preflight, _ := request(t, http.MethodOptions, n.URL+"/scores", "", http.Header{
		"Origin": {page}, "Access-Control-Request-Method": {"POST"},
	})
	allowed := strings.Split(preflight.Get("Access-Control-Allow-Headers"), ", ")
	parameter := regexp.MustCompile(`\{[a-z_]+\}`)
	for _, d := range documents(t, n)[1:] { // the requests are all of the dialects' routes
		for path, methods := range d.Paths {
			for method, o := range methods {
				for _, p := range o.Parameters {
					if p.In == "header" && !slices.Contains(allowed, p.Name) {
						t.Errorf("pages may not send the header %s of %s", p.Name, path)
					}
				}
				route := strings.ToUpper(method) + " " + d.base() + parameter.ReplaceAllString(path, "alice")
				if _, tested := dialectRequests[route]; !tested && !strings.Contains(path, "/ws") &&
					!strings.HasSuffix(path, "/stream") {
					t.Errorf("%s is not tested", route)
				}
			}
		}
	}
	want := func(what string, got map[string]int, status int, others map[string]int) {
		t.Helper()
		for route := range dialectRequests {
			want := status
			if other, ok := others[route]; ok {
				want = other
			} else if want == http.StatusForbidden && strings.Contains(route, "/delta/") {
				want = http.StatusUnauthorized // its specification has no 403
			}
			if got[route] != want {
				t.Errorf("%s: %s: got %d, want %d", what, route, got[route], want)
			}
		}
	}
	alice := bearer(h.token("alice", "", time.Hour))
	token := n.startAction(t, "alice", `{"action_id":"m1"}`)
	want("without a token", n.sendAll(t, nil, token), http.StatusUnauthorized, map[string]int{
		"GET /v1/leaderboard": 200, "GET /delta/v1/leaderboard/top": 200, // as their specifications say
	})
	want("with a token that only joins", n.sendAll(t, bearer(h.token("alice", auth.ScopeJoin, time.Hour)), token),
		http.StatusForbidden, nil)

	conn := backends.Connect(t, h.postgres)
	conn.Do(t, `update boards set public = false`)
	h.await("the boards to be private", func() bool {
		status, _ := h.get(t, n.URL+"/leaderboard/top", alice)
		return status == http.StatusNotFound
	})
	time.Sleep(time.Second) // a node caches each board for a second
	want("on private boards", n.sendAll(t, alice, token), http.StatusNotFound, nil)
	conn.Do(t, `update boards set public = true`)
	h.await("the boards to be public", func() bool {
		return !slices.Contains(slices.Collect(maps.Values(n.sendAll(t, alice, token))), http.StatusNotFound)
	})
	want("of alice", n.sendAll(t, alice, token), http.StatusOK, nil)

	root := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	if status, _, body := request(t, http.MethodPost, n.URL+"/v1/admin/users/alice/ban", `{"reason":"test"}`,
		root); status != http.StatusOK {
		t.Fatalf("ban: got %d %s", status, body)
	}
	want("of a banned user", n.sendAll(t, alice, token), http.StatusForbidden, map[string]int{
		"GET /v1/leaderboard": 200, "GET /delta/v1/leaderboard/top": 200, "GET /leaderboard/top": 200,
		"POST /delta/v1/leaderboard/ws-token": 200,                                // as a native ticket
		"GET /delta/v1/users/alice/score":     404, "GET /leaderboard/alice": 404, // as for anyone
	})

	// One native request of each limit leaves none for the dialects.
	limited := h.start("api,gateway", "transport", "direct", "dialects", strings.Join(config.DialectNames, ","),
		"dialect-highscore-action-min", "0s", "ingest-actions", "win:1:100", "limit-updates-per-minute", "1",
		"limit-top-per-minute", "1",
		"limit-rank-per-minute", "1", "limit-tickets-per-minute", "1")
	bob := bearer(h.token("bob", "", time.Hour))
	for _, native := range []string{
		"GET /v1/leaderboard/top", "GET /v1/users/alice/rank", "GET /v1/realtime/token", "POST /v1/scores/increment",
	} {
		method, path, _ := strings.Cut(native, " ")
		body := ""
		if method == http.MethodPost {
			body = "{}"
		}
		request(t, method, limited.URL+path, body, bob)
	}
	for route, status := range limited.sendAll(t, bob, token) {
		if status >= 0 {
			t.Errorf("%s over the limit: got %d without Retry-After", route, status)
		}
	}
}

// Over two nodes at once, in any mix of dialects, an event counts once, an action token
// once, and a score that is not higher never lowers another.
func TestDialectsUnderConcurrency(t *testing.T) {
	t.Parallel()
	onGlobal := []string{"dialect-delta-board", "global", "dialect-delta-signature", "optional"}
	h, first := dialectNode(t, onGlobal...)
	nodes := []*node{first, h.start("api", append([]string{
		"transport", "direct", "dialects", strings.Join(config.DialectNames, ","), "ingest-actions", "win:1:100",
	}, onGlobal...)...)}
	now := time.Now().UTC().Format(time.RFC3339)
	alice := bearer(h.token("alice", "", time.Hour))
	token := first.startAction(t, "alice", `{"action_id":"m1"}`)
	var all sync.WaitGroup
	send := func(i int, path, body string, header http.Header, check func(status int, answer string) bool) {
		all.Go(func() {
			status, _, answer := request(t, http.MethodPost, nodes[i%2].URL+path, body, header)
			if !check(status, answer) {
				t.Errorf("%s %s: got %d %s", path, body, status, answer)
			}
		})
	}
	one := func(status int, answer string) bool { return status == 200 && strings.Contains(answer, `core":5`) }
	known := alice.Clone()
	known.Set("Idempotency-Key", "e1")
	best := make(map[string]int)
	for i := range 40 {
		send(i, "/v1/scores/increment", `{"user_id":"alice","delta":5,"event_id":"e1","timestamp":"`+now+`"}`,
			alice, one)
		send(i, "/delta/v1/score/update", `{"userId":"alice","scoreDelta":5,"actionId":"e1","timestamp":"`+now+`"}`,
			alice, one)
		send(i, "/v1/scores/update", fmt.Sprintf(
			`{"action_id":"m1","action_token":%q,"new_score":%d,"timestamp":%q}`, token, 100+i/2%2, now), alice,
			func(status int, answer string) bool { return status == 200 || status == 409 })
		user, score := fmt.Sprint("p", i%2), 100*i+i*37%101
		best[user] = max(best[user], score)
		send(i/2, "/scores", fmt.Sprintf(`{"score":%d}`, score), bearer(h.token(user, "", time.Hour)),
			func(status int, answer string) bool {
				var got struct{ Score, Rank int }
				return json.Unmarshal([]byte(answer), &got) == nil && status == 200 && got.Score >= score &&
					got.Rank > 0
			})
	}
	all.Wait()
	for board, rows := range map[string]int{"global": 1, "highscore": 1} {
		if got := h.entries(t, first, "alice", board); got != rows {
			t.Errorf("alice has %d entries on %s, want %d", got, board, rows)
		}
	}
	conn := backends.Connect(t, h.postgres)
	for user, score := range best {
		if got := conn.Count(t, `select score from scores where user_id = $1`, user); got != int64(score) {
			t.Errorf("%s has the score %d, want %d", user, got, score)
		}
	}
	// Of two ids neither is used.
	two := alice.Clone()
	two["Idempotency-Key"], two["X-Idempotency-Key"] = []string{"k1", "k2"}, []string{"m2", "m3"}
	highest := fmt.Sprintf(`{"action_id":"m2","action_token":%q,"new_score":9,"timestamp":%q}`,
		first.startAction(t, "alice", `{"action_id":"m2"}`), now)
	for path, body := range map[string]string{"/scores": `{"score":9}`, "/v1/scores/update": highest} {
		if status, _, answer := request(t, http.MethodPost, first.URL+path, body, two); status != 400 {
			t.Errorf("%s with two ids in the header: got %d %s, want 400", path, status, answer)
		}
	}
	// The id is the user's own in every dialect.
	if status, _, answer := request(t, http.MethodPost, first.URL+"/scores", `{"score":9}`, known); status != 409 {
		t.Errorf("the id of an event on another board: got %d %s, want 409", status, answer)
	}
	bob := bearer(h.token("bob", "", time.Hour))
	bob.Set("Idempotency-Key", "e1")
	if status, _, answer := request(t, http.MethodPost, first.URL+"/scores", `{"score":9}`, bob); status != 200 {
		t.Errorf("another user's id: got %d %s, want 200", status, answer)
	}
	// Who takes the id of an own action in advance loses that action, and nothing else.
	id := scoreboard.NamedEventID("bob", "bob|win|"+now).Text
	body := `{"user_id":"bob","delta":1,"event_id":"` + id + `","timestamp":"` + now + `"}`
	if status, _, answer := request(t, http.MethodPost, first.URL+"/v1/scores/increment", body, bob); status != 200 {
		t.Errorf("an event with the id of an action: got %d %s, want 200", status, answer)
	}
	for user, want := range map[string]int{"bob": 409, "alice": 200} {
		status, _, answer := request(t, http.MethodPost, first.URL+"/api/v1/scores/update",
			`{"userId":"`+user+`","actionId":"win","scoreIncrement":1,"timestamp":"`+now+`"}`,
			bearer(h.token(user, "", time.Hour)))
		if status != want {
			t.Errorf("the action of %s: got %d %s, want %d", user, status, answer, want)
		}
	}
}

// With the setting dialect.NAME.signature every write of that dialect is signed with a key
// that may sign it, whatever the native API requires.
func TestDialectSignatures(t *testing.T) {
	t.Parallel()
	var settings []string
	for _, name := range config.DialectNames {
		settings = append(settings, "dialect-"+name+"-signature", config.SignatureRequired)
	}
	h, n := dialectNode(t, settings...)
	root := n.client("root", auth.ScopeAdmin)
	keys := make(map[string]client.Key)
	for name, boards := range map[string][]string{"any": nil, "other": {"arena"}} {
		if name == "other" {
			if _, err := root.CreateBoard(t.Context(), client.BoardRequest{Board: "arena"}); err != nil {
				t.Fatal(err)
			}
		}
		key, err := root.CreateKey(t.Context(), client.KeyRequest{Name: name, Boards: boards})
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = key
	}
	token := n.startAction(t, "alice", `{"action_id":"m1"}`)
	for route, body := range dialectRequests {
		method, path, _ := strings.Cut(route, " ")
		if body == "" {
			continue
		}
		body = strings.Replace(body, "TOKEN", token, 1)
		signed := func(name, body string) http.Header {
			now := strconv.FormatInt(time.Now().Unix(), 10)
			header := bearer(h.token("alice", "", time.Hour))
			key := keys[name]
			text := wire.HeaderText(method, path, key.KeyID, now, []byte(body))
			header.Set(wire.HeaderKey, key.KeyID)
			header.Set(wire.HeaderTimestamp, now)
			header.Set(wire.HeaderSignature, wire.SignatureVersion+wire.Sign(key.Secret, text))
			return header
		}
		forbidden := http.StatusForbidden
		if strings.HasPrefix(path, "/delta/") {
			forbidden = http.StatusUnauthorized
		}
		for i, c := range []struct {
			header http.Header
			want   int
		}{
			{bearer(h.token("alice", "", time.Hour)), http.StatusUnauthorized},
			{signed("any", body+" "), http.StatusUnauthorized},
			{signed("other", body), forbidden},
			{signed("any", body), http.StatusOK},
		} {
			if status, _, answer := request(t, method, n.URL+path, body, c.header); status != c.want {
				t.Errorf("%s, %d: got %d %s, want %d", route, i, status, answer, c.want)
			}
		}
	}
}
