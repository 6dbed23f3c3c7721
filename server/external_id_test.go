package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A user of Auth0 writes and reads under either form of the id. Operators see the provider's
// form until the user is erased.
func TestExternalIDs(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start("api,relay,projector,gateway,maintenance")
	const external, derived = "auth0|5f7c8ec7", "x:mf2xi2bqpq2wmn3dhbswgny"
	bearer := func(user, scope string) http.Header {
		token, _, err := h.tokens.Mint(scoreboard.UserID(user), scope, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return http.Header{"Authorization": {"Bearer " + token}}
	}
	player, root := bearer(external, ""), bearer("root", "score:admin score:update")
	send := func(method, path, body string, header http.Header, want int) map[string]any {
		t.Helper()
		status, _, answer := request(t, method, n.URL+path, body, header)
		if status != want {
			t.Fatalf("%s %s %s: got %d %s, want %d", method, path, body, status, answer, want)
		}
		var out map[string]any
		_ = json.Unmarshal([]byte(answer), &out) // an export has several lines
		return out
	}
	increment := func(user, event string) string {
		return `{"user_id":"` + user + `","delta":5,"event_id":"` + event + `","timestamp":"2026-11-21T12:00:00Z"}`
	}
	for _, form := range []string{external, derived} {
		out := send(http.MethodPost, "/v1/scores/increment", increment(form, "e1"), player, http.StatusOK)
		if out["user_id"] != derived || out["new_score"] != 5.0 {
			t.Errorf("as %s: got %v, want 5 points of %s once", form, out, derived)
		}
		path := "/v1/users/" + url.PathEscape(form)
		if out := send(http.MethodGet, path+"/score", "", player, http.StatusOK); out["user_id"] != derived {
			t.Errorf("score of %s: got %v", form, out)
		}
		send(http.MethodGet, path+"/statement", "", player, http.StatusOK)
		send(http.MethodPut, path+"/profile", `{"display_name":"Ada"}`, player, http.StatusOK)
		send(http.MethodGet, "/v1/events/e1?user_id="+url.QueryEscape(form), "", player, http.StatusOK)
	}
	// Not for others: a text with | is no user id.
	send(http.MethodPost, "/v1/scores/increment", increment("auth0|other", "e2"), player, http.StatusBadRequest)
	send(http.MethodPost, "/v1/scores/increment", increment(external, "e2"), bearer("bob", ""), http.StatusBadRequest)

	record := send(http.MethodGet, "/v1/admin/users/"+derived, "", root, http.StatusOK)
	if record["external_id"] != external {
		t.Errorf("an operator sees %v, want the id of the provider", record)
	}
	_, _, export := request(t, http.MethodGet, n.URL+"/v1/admin/users/"+derived+"/export", "", root)
	if !strings.Contains(export, external) {
		t.Errorf("the export %s lacks the id of the provider", export)
	}
	operator := newVisitor(t, n.Ops).signIn(h.token("olga", auth.ScopeOperate, time.Hour))
	for _, asked := range []string{external, derived} {
		status, page, at := operator.get("/console/players?user=" + url.QueryEscape(asked))
		if status != http.StatusOK || at != "/console/players/"+derived || !strings.Contains(page, external) {
			t.Errorf("the console finds %d at %s for %s: %s", status, at, asked, page)
		}
	}
	send(http.MethodPost, "/v1/admin/users/"+derived+"/erase", `{"reason":"asked"}`, root, http.StatusOK)
	send(http.MethodPost, "/v1/scores/increment", increment(external, "e3"), player, http.StatusGone)
	_, _, body := request(t, http.MethodGet, n.URL+"/v1/admin/users/"+derived, "", root)
	if strings.Contains(body, external) {
		t.Errorf("after the erasure an operator sees %s", body)
	}
}
