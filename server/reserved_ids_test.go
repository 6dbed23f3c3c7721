package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Ids that the server makes come in by no token and no request.
func TestReservedIDsComeInNowhere(t *testing.T) {
	t.Parallel()
	h, n := dialectNode(t, "auth-dev-issuer", "true")
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	ctx := t.Context()
	if _, err := root.CreateBoard(ctx, client.BoardRequest{
		Board: "clans", Team: &client.TeamRule{Source: "global", Aggregate: "sum", Moves: "with_points"},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := root.JoinTeam(ctx, "clans", "ants", "ada"); err != nil {
		t.Fatal(err)
	}
	run, err := root.StartImport(ctx, client.ImportRequest{Source: "csv", Board: "global"})
	if err != nil {
		t.Fatal(err)
	}
	server := bearer(h.token("game", auth.ScopeUpdate, time.Hour))
	operator := bearer(h.token("root", auth.ScopeAdmin, time.Hour))
	ada := bearer(h.token("ada", "", time.Hour))
	for _, id := range []string{"team:ants", "erased-abc", "role:scoreboard", "scoreboardd"} {
		increment := `{"user_id":"` + id + `","delta":1,"event_id":"e","timestamp":"2026-01-01T00:00:00Z"}`
		for what, r := range map[string]struct {
			method, path, body string
			header             http.Header
		}{
			"an increment": {http.MethodPost, "/v1/scores/increment", increment, server},
			"an action":    {http.MethodPost, "/v1/actions", `{"user_id":"` + id + `","action":"a"}`, server},
			"an adjustment": {
				http.MethodPost, "/v1/admin/users/" + id + "/adjust", `{"delta":1,"event_id":"e","reason":"r"}`,
				operator,
			},
			"an increment in the dialect module": {
				http.MethodPost, "/api/v1/scores/update", `{"userId":"` + id +
					`","actionId":"win","scoreIncrement":5,"timestamp":"2026-01-01T00:00:00Z"}`, server,
			},
			"a development token": {
				http.MethodPost, "/v1/admin/tokens", `{"user_id":"` + id + `"}`, operator,
			},
			"a record of an import": {
				http.MethodPost, fmt.Sprintf("/v1/admin/imports/%d/records", run.ImportID),
				`{"records":[{"user_id":"` + id + `","score":1}]}`, operator,
			},
			"an increment in a dialect": {
				http.MethodPost, "/delta/v1/score/update", `{"userId":"` + id +
					`","scoreDelta":1,"actionId":"a1","timestamp":"2026-01-01T00:00:00Z"}`, server,
			},
			"a friend": {http.MethodPut, "/v1/users/me/friends/" + id, "", ada},
			"a friendship": {http.MethodPost, "/v1/friends", `{"pairs":[{"user_id":"ada","friend_id":"` + id +
				`"}]}`, server},
			"a member": {http.MethodPut, "/v1/boards/clans/teams/ants/members/" + id, "", server},
			"a key": {
				http.MethodPost, "/v1/admin/keys", `{"name":"k","user_prefix":"` + id + `"}`, operator,
			},
			"a name": {http.MethodPut, "/v1/users/ada/profile", `{"display_name":"` + id + `"}`, ada},
		} {
			status, _, answer := request(t, r.method, n.URL+r.path, r.body, r.header)
			if status != http.StatusBadRequest || !strings.Contains(answer, "must not") {
				t.Errorf("%s of %s: %d %s, want a 400", what, id, status, answer)
			}
		}
		batch := `{"items":[` + increment + `,` + strings.ReplaceAll(increment, id, "bob") + `]}`
		status, _, answer := request(t, http.MethodPost, n.URL+"/v1/scores/increments", batch, server)
		var results wire.BatchResults
		if err := json.Unmarshal([]byte(answer), &results); err != nil || status != http.StatusOK ||
			len(results.Results) != 2 || results.Results[0].Status != "rejected" ||
			!strings.Contains(results.Results[0].Error.Message, "must not") {
			t.Errorf("a batch with %s: %d %s, %v; want it rejected", id, status, answer, err)
		}
		// The provider's user of that id is one with a derived id.
		own := bearer(h.token(id, "", time.Hour))
		status, _, answer = request(t, http.MethodPut, n.URL+"/v1/users/"+id+"/profile", `{"display_name":"Imp"}`, own)
		var p client.Profile
		err = json.Unmarshal([]byte(answer), &p)
		if err != nil || status != http.StatusOK || !strings.HasPrefix(p.UserID, "x:") {
			t.Errorf("the profile of the token of %s: %d %s, want that of a derived id", id, status, answer)
		}
	}
	if _, err := root.PutProfile(ctx, "team:ants", client.Profile{DisplayName: "The Ants"}); err != nil {
		t.Errorf("an operator cannot name a team: %v", err)
	}
	if _, err := root.Ban(ctx, "team:ants", "test"); err != nil {
		t.Errorf("an operator cannot ban a reserved id: %v", err)
	}
}
