package api

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Every route answers 400 to a body that is no object or has unknown fields, and those
// that need a field also to an empty object, before it calls a component: this API has
// none.
func TestBodiesWithoutAnObject(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	a.Configure(Policy{SignatureOptional: true})
	needs := map[string]bool{ // a field
		"POST /v1/scores/increment": true, "POST /v1/scores/increments": true, "POST /v1/leaderboard/users": true,
		"POST /v1/boards": true, "POST /v1/admin/keys": true, "POST /v1/admin/voids": true,
		"POST /v1/admin/webhooks": true, "POST /v1/admin/what-if": true,
		"POST /v1/admin/imports": true, "POST /v1/admin/imports/:id/records": true,
		"PUT /v1/boards/:board/rewards": true, "POST /v1/admin/rewards": true,
		"POST /v1/admin/rewards/:id/revoke": true, "POST /v1/friends": true,
		"POST /v1/admin/leagues/:board/recompute": true,
		"POST /v1/admin/tokens":                   true, "POST /v1/admin/users/:user_id/adjust": true,
	}
	without := map[string]bool{ // a body; an empty object is fine
		"POST /v1/boards/:board/freeze": true, "POST /v1/boards/:board/unfreeze": true,
		"POST /v1/boards/:board/join": true, "PUT /v1/admin/boards/:board/players/:user_id": true,
		"POST /v1/boards/:board/archive": true, "PUT /v1/users/me/friends/:user_id": true,
		"PUT /v1/boards/:board/teams/:team/members/:user_id": true, "POST /v1/users/:user_id/rewards/:id/claim": true,
		"POST /v1/admin/dead-letters/:id/requeue": true, "POST /v1/admin/master-key/rotate": true,
		"POST /v1/admin/webhooks/:webhook_id/enable": true, "POST /v1/admin/webhooks/:webhook_id/test": true,
		"POST /v1/admin/webhooks/:webhook_id/deliveries/:id/retry": true, "POST /v1/admin/jobs/:id/stop": true,
	}
	token := minted(t, a, "alice", auth.ScopeUpdate+" "+auth.ScopeAdmin)
	checked := 0
	for _, r := range a.handlers.routes() {
		if r.method == http.MethodGet || r.method == http.MethodDelete {
			continue
		}
		name := r.method + " " + r.path
		bodies := []string{"null", "[]", `"x"`, "1", `{"no_such_field":1}`, "{} {}", " "}
		if !without[name] {
			bodies = append(bodies, "")
		}
		if needs[name] {
			bodies = append(bodies, "{}")
			checked++
		}
		for _, body := range bodies {
			path := strings.NewReplacer("me/friends/:user_id", "me/friends/bob", ":user_id", "alice",
				":id", "1", ":event_id", "e1", ":board", "daily", ":team", "ants",
				":key_id", "k", ":webhook_id", "wh_1", ":name", "reads.top_n").Replace(r.path)
			req := httptest.NewRequestWithContext(t.Context(), r.method, path, strings.NewReader(body))
			req.Header.Set("Authorization", "Bearer "+token)
			req.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			a.ServeHTTP(w, req)
			if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"error_code":"invalid_request"`) {
				t.Errorf("%s with the body %q: got %d %s, want 400", name, body, w.Code, w.Body)
			}
		}
	}
	if checked != len(needs) {
		t.Errorf("%d of %d routes that need a field exist", checked, len(needs))
	}
}

// A body without a Content-Type is not read, whether its length is known or not.
func TestBodyNeedsContentType(t *testing.T) {
	t.Parallel()
	a := everything(&trail{})
	token := minted(t, a, "alice", "")
	for _, c := range []struct {
		kind, body string
		chunked    bool
		want       int
	}{
		{"", "{}", false, http.StatusUnsupportedMediaType},
		{"", "{}", true, http.StatusUnsupportedMediaType},
		{"text/plain", "{}", false, http.StatusUnsupportedMediaType},
		{"application/json", "{}", true, http.StatusBadRequest}, // it is read
		{"application/json; charset=utf-8", "{}", false, http.StatusBadRequest},
		{"", "", false, http.StatusBadRequest},
	} {
		body := strings.NewReader(c.body)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/scores/increment", body)
		if c.chunked {
			req.ContentLength = -1
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if c.kind != "" {
			req.Header.Set("Content-Type", c.kind)
		}
		w := httptest.NewRecorder()
		a.ServeHTTP(w, req)
		if w.Code != c.want {
			t.Errorf("the body %q as %q (chunked: %t): got %d %s, want %d", c.body, c.kind, c.chunked, w.Code, w.Body,
				c.want)
		}
	}
}

// Times that no JSON response can contain are rejected where they enter.
func TestUnwritableTimes(t *testing.T) {
	t.Parallel()
	for at, writable := range map[string]bool{
		"9999-12-31T23:59:59-01:00": false, "0001-01-01T00:00:00+01:00": false, "0000-06-01T00:00:00Z": false,
		"2026-11-22T00:00:00+24:00": false, "2026-11-22T0:00:00Z": false, "2026-11-22t00:00:00z": true,
		"9999-12-31T23:59:59Z": true, "2026-11-22T00:00:00+01:00": true,
	} {
		for name, v := range map[string]any{
			"from": &wire.VoidRequest{}, "to": &wire.VoidRequest{}, "starts_at": &wire.BoardRequest{},
			"ends_at": &wire.BoardRequest{},
		} {
			c, _ := gin.CreateTestContext(httptest.NewRecorder())
			err := decodeObject(c, []byte(`{"`+name+`":"`+at+`"}`), v)
			var ours *scoreboard.Error
			if writable != (err == nil) || err != nil && (!errors.As(err, &ours) || ours.Field != name) {
				t.Errorf("%s %s: %v, want accepted %t", name, at, err, writable)
			}
		}
	}
}
