package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Increments for a period by every way of writing: they count in it, or nowhere.
func TestIncrementsForAPeriodThroughTheAPI(t *testing.T) {
	t.Parallel()
	h, game := newHarness(t), fixtures.Ed25519(t)
	n := h.start(allRoles+",intake", "ingest-async", "true", "auth-attestation-jwks-url", game.URL,
		"auth-jwks-networks", "127.0.0.0/8")
	root := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	current, ends := make(map[string]string), time.Now().Add(24*time.Hour)
	for _, r := range []client.BoardRequest{
		{Board: "season", Period: "season", Season: "autumn", EndsAt: &ends},
		{Board: "plainly"},
		{
			Board: "vouched", Period: "season", Season: "autumn", EndsAt: &ends,
			Require: []string{wire.RequireAttestation},
		},
	} {
		b, err := root.CreateBoard(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		current[r.Board] = b.Current
	}
	const over = "season:summer"
	submit := func(event, period string) error {
		_, err := root.Submit(t.Context(), client.Increment{
			User: "ada", Board: "season", EventID: event, Delta: 1, IfPeriod: period,
		})
		return err
	}
	for _, step := range []struct {
		event, period string
		want          wire.Code
	}{
		{"e1", over, wire.CodePeriodEnded},
		{"e1", current["season"], ""},
		{"e1", over, ""}, // a repeat
		{"e1", "", ""},
		{"e2", "season", wire.CodeInvalidRequest},
		{"e2", "plainly:2026-11-21", wire.CodeInvalidRequest},
		{"e1", "plainly:2026-11-21", wire.CodeInvalidRequest}, // what is malformed is no repeat
	} {
		if err := submit(step.event, step.period); wire.CodeOf(err) != step.want {
			t.Errorf("%s for %q: got %v, want %q", step.event, step.period, err, step.want)
		}
	}
	_, err := root.SubmitBoards(t.Context(), client.Increment{
		User: "ada", EventID: "e3", Delta: 1, IfPeriod: over,
	}, []string{"plainly", "season"})
	if wire.CodeOf(err) != wire.CodePeriodEnded {
		t.Errorf("several boards: got %v, want period_ended", err)
	}
	_, err = root.Submit(t.Context(), client.Increment{
		User: "ada", Board: "plainly", EventID: "e4", Delta: 1, IfPeriod: "plainly:2026-11-21",
	})
	if wire.CodeOf(err) != wire.CodeInvalidRequest || !strings.Contains(err.Error(), "no periods") {
		t.Errorf("a board without periods: got %v, want invalid_request", err)
	}
	results, err := root.SubmitBatch(t.Context(), []client.Increment{
		{User: "ada", Board: "season", EventID: "e5", Delta: 1, IfPeriod: over},
		{User: "ada", Board: "season", EventID: "e6", Delta: 1, IfPeriod: current["season"]},
		{User: "ada", Board: "season", EventID: "e1", Delta: 1, IfPeriod: over},
		{User: "ada", EventID: "e7", Delta: 1, IfPeriod: current["season"]},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []wire.Code{wire.CodePeriodEnded, "", "", wire.CodeInvalidRequest} {
		if got := results[i].Err; wire.CodeOf(got) != want {
			t.Errorf("item %d: got %v, want %q", i, got, want)
		}
	}

	// Accepted for later, the outcome is stored.
	token := h.token("ada", "", time.Hour)
	body := func(event, period, more string) string {
		return fmt.Sprintf(`{"user_id":"ada","delta":1,"event_id":%q,"board":"season","timestamp":%q,"if_period":%q%s}`,
			event, time.Now().UTC().Format(time.RFC3339), period, more)
	}
	header := bearer(token)
	header.Set("Prefer", "respond-async")
	for event, period := range map[string]string{"a1": over, "a2": current["season"]} {
		status, _, answer := request(t, http.MethodPost, n.URL+"/v1/scores/increment", body(event, period, ""), header)
		if status != http.StatusAccepted {
			t.Fatalf("%s: got %d %s, want 202", event, status, answer)
		}
		last := n.outcome(t, token, "ada", event)
		ended := last.Status == wire.StatusRejected && last.ErrorCode == string(wire.CodePeriodEnded) &&
			strings.Contains(last.Message, current["season"])
		if ended != (period == over) || period != over && last.Status != wire.StatusDone {
			t.Errorf("%s for %s: got %+v", event, period, last)
		}
	}
	p, err := root.Score(t.Context(), "ada", client.PlaceQuery{Board: "season", MinVersion: 3})
	if err != nil || p.Score != 3 { // e1, e6, a2
		t.Errorf("got %+v, %v, want a score of 3", p, err)
	}

	// The signature of the fields does not cover the period.
	key, err := root.CreateKey(t.Context(), client.KeyRequest{Name: "game"})
	if err != nil {
		t.Fatal(err)
	}
	r := wire.IncrementRequest{UserID: "ada", Delta: 1, EventID: "e8", Board: "season"}
	client.Signer{KeyID: key.KeyID, Secret: key.Secret}.Fields(&r, time.Now())
	signed := body("e8", current["season"], fmt.Sprintf(`,"key_id":%q,"signature":%q`, r.KeyID, r.Signature))
	status, _, answer := request(t, http.MethodPost, n.URL+"/v1/scores/increment", signed, bearer(token))
	if status != http.StatusBadRequest || !strings.Contains(answer, `"field":"if_period"`) {
		t.Errorf("a period with a field signature: got %d %s, want a 400", status, answer)
	}

	// An attestation names the period that the increment has.
	for i, c := range []struct {
		claim, period any
		want          wire.Code
	}{
		{nil, current["vouched"], wire.CodeForbidden},
		{current["vouched"], nil, wire.CodeForbidden},
		{"vouched:summer", current["vouched"], wire.CodeForbidden},
		{current["vouched"], current["vouched"], ""},
	} {
		event := fmt.Sprint("v", i)
		claims := jwt.MapClaims{
			"user_id": "ada", "delta": 1, "event_id": event, "board": "vouched", "iat": time.Now().Unix(),
		}
		in := map[string]any{
			"user_id": "ada", "delta": 1, "event_id": event, "board": "vouched",
			"timestamp": time.Now().UTC().Format(time.RFC3339),
		}
		if c.claim != nil {
			claims["if_period"] = c.claim
		}
		if c.period != nil {
			in["if_period"] = c.period
		}
		in["attestation"] = game.Sign(t, claims)
		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		_, _, answer := request(t, http.MethodPost, n.URL+"/v1/scores/increment", string(text), bearer(token))
		var got wire.Error
		if err := json.Unmarshal([]byte(answer), &got); err != nil || got.ErrorCode != string(c.want) {
			t.Errorf("an attestation for %v of an increment for %v: got %s, want %q", c.claim, c.period, answer, c.want)
		}
	}
}
