package api

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// asks sends a request to a route, with values for its parameters.
func asks(t *testing.T, a *API, r route, user, token, body string) int {
	t.Helper()
	var parts []string
	for part := range strings.SplitSeq(r.path, "/") {
		switch {
		case part == ":user_id":
			part = user
		case strings.HasPrefix(part, ":"):
			part = "1"
		}
		parts = append(parts, part)
	}
	req := httptest.NewRequestWithContext(t.Context(), r.method, strings.Join(parts, "/"), strings.NewReader(body))
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, req)
	return w.Code
}

func minted(t *testing.T, a *API, user scoreboard.UserID, scope string) string {
	t.Helper()
	token, _, err := a.Tokens.Mint(user, scope, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// unscoped lists the routes that change something and need no scope, because each
// checks the user itself. A new route must require a scope or be added here.
var unscoped = map[string]bool{
	"POST /v1/scores/increment": true, "POST /v1/actions": true, "PUT /v1/users/:user_id/profile": true,
	"POST /v1/leaderboard/users": true, // only reads
}

// withoutToken lists the routes without user data.
var withoutToken = map[string]bool{"GET /": true, "GET /openapi.json": true, "GET /docs": true}

func TestRoutesRequireTokenAndScope(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	lesser := map[string]string{
		"no scope":     "",
		"score:update": auth.ScopeUpdate,
		"ws_conn":      auth.ScopeJoin,
		"both":         auth.ScopeUpdate + " " + auth.ScopeJoin,
		"unknown":      "admin score:read score",
		"upper case":   "SCORE:ADMIN",
		"longer":       "score:administrator",
		"prefix":       "score:admi",
		"comma":        "score:admin,score:update",
		"wildcard":     "score:*",
	}
	admin := 0
	for _, r := range a.routes() {
		name := r.method + " " + r.path
		if withoutToken[name] {
			continue
		}
		if got := asks(t, a, r, "alice", "", "{}"); got != http.StatusUnauthorized {
			t.Errorf("%s without a token: got %d, want 401", name, got)
		}
		if strings.HasPrefix(r.path, "/v1/admin") && r.scope != auth.ScopeAdmin {
			t.Errorf("%s requires scope %q, want %s", name, r.scope, auth.ScopeAdmin)
		}
		if r.method != http.MethodGet && r.scope == "" && !unscoped[name] {
			t.Errorf("%s changes something and requires no scope: add one, or add the route to unscoped", name)
		}
		if r.scope != auth.ScopeAdmin {
			continue
		}
		admin++
		for what, scope := range lesser {
			if got := asks(t, a, r, "alice", minted(t, a, "alice", scope), "{}"); got != http.StatusForbidden {
				t.Errorf("%s with %s: got %d, want 403", name, what, got)
			}
		}
	}
	if admin < 25 {
		t.Errorf("got %d routes that require %s, want at least 25", admin, auth.ScopeAdmin)
	}
}

// Every route with a user id checks the user before it calls a component: this API
// has none.
func TestOtherUsersIDIsForbidden(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	public := map[string]bool{"GET " + pathScore: true, "GET " + pathRank: true} // on public boards
	bodies := map[string]string{
		"POST /v1/scores/increment": `{"user_id":"alice","delta":1,"event_id":"e",` +
			`"timestamp":"2026-11-21T12:00:00Z"}`,
		"POST /v1/actions":               `{"user_id":"alice"}`,
		"PUT /v1/users/:user_id/profile": `{"display_name":"x"}`,
	}
	mallory := minted(t, a, "mallory", "")
	seen := 0
	for _, r := range a.routes() {
		name := r.method + " " + r.path
		if !strings.Contains(r.path, ":user_id") && bodies[name] == "" || public[name] {
			continue
		}
		seen++
		body := bodies[name]
		if body == "" {
			body = "{}"
		}
		if got := asks(t, a, r, "alice", mallory, body); got != http.StatusForbidden {
			t.Errorf("%s of alice by mallory: got %d, want 403", name, got)
		}
	}
	event := route{method: http.MethodGet, path: "/v1/events/e?user_id=alice"}
	if got := asks(t, a, event, "", mallory, ""); got != http.StatusForbidden {
		t.Errorf("alice's event by mallory: got %d, want 403", got)
	}
	if seen < 8 {
		t.Errorf("got %d routes with a user id, want at least 8", seen)
	}
	// A route with a user id outside its path is tested above, requires a scope, or
	// reads public data.
	scopes := map[string]string{}
	for _, r := range a.routes() {
		scopes[r.method+" "+r.path] = r.scope
	}
	for _, o := range operations() {
		takes := slices.ContainsFunc(o.query, func(p param) bool { return p.name == "user_id" })
		if o.body != nil {
			for body, i := reflect.TypeOf(o.body), 0; i < body.NumField(); i++ {
				takes = takes || strings.HasPrefix(body.Field(i).Tag.Get("json"), "user_id")
			}
		}
		if takes && scopes[o.route] == "" && bodies[o.route] == "" && o.route != "GET /v1/events/:event_id" &&
			o.route != "POST "+pathUsers {
			t.Errorf("%s has a user id: test that it rejects other users", o.route)
		}
	}
}

func TestJoinScopeOnlyJoins(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	token := minted(t, a, "alice", auth.ScopeJoin)
	for _, r := range a.routes() {
		if r.path == pathRealtime || withoutToken[r.method+" "+r.path] {
			continue
		}
		if got := asks(t, a, r, "alice", token, "{}"); got != http.StatusForbidden {
			t.Errorf("%s %s with ws_conn alone: got %d, want 403", r.method, r.path, got)
		}
	}
}
