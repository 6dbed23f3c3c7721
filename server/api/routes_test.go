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

// asks sends a request to the table's route, with values in the place of its
// parameters.
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

// everybody are the routes that change something, or act as somebody, and need
// no scope: each has its own check of whose it is. A route that is added must
// be thought of here, or want a scope.
var everybody = map[string]bool{
	"POST /v1/scores/increment": true, "POST /v1/actions": true, "PUT /v1/users/:user_id/profile": true,
	"POST /v1/leaderboard/users": true, // reads a list
}

// withoutToken are the routes that have nothing of anybody's.
var withoutToken = map[string]bool{"GET /openapi.json": true, "GET /docs": true}

func TestRoutesRequireTokenAndScope(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	lesser := map[string]string{
		"no scope":     "",
		"score:update": auth.ScopeUpdate,
		"ws_conn":      auth.ScopeJoin,
		"both of them": auth.ScopeUpdate + " " + auth.ScopeJoin,
		"another's":    "admin score:read score",
		"in capitals":  "SCORE:ADMIN",
		"a longer one": "score:administrator",
		"a part":       "score:admi",
		"with a comma": "score:admin,score:update",
		"with a star":  "score:*",
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
			t.Errorf("%s wants the scope %q, not %s", name, r.scope, auth.ScopeAdmin)
		}
		if r.method != http.MethodGet && r.scope == "" && !everybody[name] {
			t.Errorf("%s changes something and wants no scope: is that meant?", name)
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
		t.Errorf("only %d routes want %s: this proves nothing", admin, auth.ScopeAdmin)
	}
}

// Whose it is decides on every route that takes a user's id, before anything
// behind it is asked: the API under test has nothing behind it.
func TestOtherUsersIDIsForbidden(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	public := map[string]bool{
		"GET " + pathScore: true,
		"GET " + pathRank:  true,
	} // standings on public boards are everybody's
	bodies := map[string]string{
		"POST /v1/scores/increment":      `{"user_id":"alice","delta":1,"event_id":"e","timestamp":"2026-11-21T12:00:00Z"}`,
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
		t.Errorf("only %d routes take a user's id: this proves nothing", seen)
	}
	// Whoever takes one elsewhere than in the path is above, wants a scope, or
	// reads what is everybody's.
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
			t.Errorf("%s takes a user's id: whose may it be?", o.route)
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
