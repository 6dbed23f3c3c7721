package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A client of specification D writes to boards that require a proof, with fields that the
// specification does not have. A write also counts on the boards whose rule it matches, if it is signed or
// the setting takes unsigned ones.
func TestModuleProofsAndRules(t *testing.T) {
	t.Parallel()
	game := fixtures.Ed25519(t)
	h := newHarness(t)
	proven := h.start(allRoles)
	root := proven.client("root", auth.ScopeAdmin)
	for _, b := range []client.BoardRequest{
		{Board: "timed", Require: []string{"action-token"}, ActionTTL: "1h"},
		{Board: "vouched", Require: []string{"attestation"}},
		{Board: "wins"},
	} {
		if _, err := root.CreateBoard(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := root.SetBoardRule(t.Context(), "wins", client.BoardRuleRequest{Actions: []string{"win"}}); err != nil {
		t.Fatal(err)
	}
	proven.stop()
	start := func(board, signature string) *node {
		return h.start(allRoles, "dialects", "module", "dialect-module-board", board,
			"dialect-module-signature", signature, "ingest-actions", "win:1:100;once=0s,draw:1:100;once=0s",
			"auth-attestation-jwks-url", game.URL,
			"auth-jwks-networks", "127.0.0.0/8")
	}
	// The user, the action and the time are the event, on whichever board.
	const at, noon = "2026-11-23T11:00:00Z", "2026-11-23T12:00:00Z"
	body := func(points int, at, proof string) string {
		return fmt.Sprintf(`{"userId":"ada","actionId":"win","scoreIncrement":%d,"timestamp":%q%s}`, points, at, proof)
	}
	send := func(n *node, body string, header http.Header) (int, string) {
		t.Helper()
		status, _, answer := request(t, http.MethodPost, n.URL+"/api/v1/scores/update", body, header)
		return status, answer
	}
	check := func(what string, n *node, body string, want int, contains string) {
		t.Helper()
		if status, answer := send(n, body, bearer(h.token("ada", "", time.Hour))); status != want ||
			!strings.Contains(answer, contains) {
			t.Errorf("%s: got %d %s, want %d with %s", what, status, answer, want, contains)
		}
	}

	n := start("timed", "optional")
	check("without an action token", n, body(5, at, ""), 400, `"field":"actionToken"`)
	token := n.startAction(t, "ada", `{"board":"timed","action":"win"}`)
	proof := `,"actionToken":"` + token + `"`
	check("with one of another user", n, body(5, at, `,"actionToken":"`+
		n.startAction(t, "bob", `{"board":"timed","action":"win"}`)+`"`), 403, `"error_code":"forbidden"`)
	check("with one of another action", n, body(5, at, `,"actionToken":"`+
		n.startAction(t, "ada", `{"board":"timed","action":"draw"}`)+`"`), 403, `"error_code":"forbidden"`)
	for range 2 {
		check("with its own", n, body(5, at, proof), 200, `"newScore":5`)
	}
	check("with one that was used", n, body(5, "2026-11-23T12:01:00Z", proof), 409, `"error_code":"token_used"`)
	n.stop()

	n = start("vouched", "optional")
	attest := func(points int, at string) string {
		return `,"attestation":"` + game.Sign(t, jwt.MapClaims{
			"userId": "ada", "actionId": "win", "scoreIncrement": points, "timestamp": at, "iat": time.Now().Unix(),
		}) + `"`
	}
	check("without an attestation", n, body(7, noon, ""), 400, `"field":"attestation"`)
	check("with one of fewer points", n, body(7, noon, attest(6, noon)), 403, `"error_code":"forbidden"`)
	check("with one of another time", n, body(7, "2026-11-23T12:05:00Z", attest(7, noon)), 403,
		`"error_code":"forbidden"`)
	for range 2 {
		check("with its own", n, body(7, noon, attest(7, noon)), 200, `"newScore":7`)
	}
	n.stop()

	n = start("module", "")
	key, err := n.client("root", auth.ScopeAdmin).CreateKey(t.Context(), client.KeyRequest{Name: "game"})
	if err != nil {
		t.Fatal(err)
	}
	check("without a signature", n, body(9, "2026-11-23T12:09:00Z", ""), 200, `"newScore":9`)
	text := body(11, "2026-11-23T12:10:00Z", "")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL+"/api/v1/scores/update",
		strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	client.Signer{KeyID: key.KeyID, Secret: key.Secret}.Headers(r, []byte(text), time.Now())
	r.Header.Set("Authorization", bearer(h.token("ada", "", time.Hour)).Get("Authorization"))
	if status, answer := send(n, text, r.Header); status != 200 || !strings.Contains(answer, `"newScore":20`) {
		t.Errorf("with a signature: got %d %s, want 20 points", status, answer)
	}
	h.ranked(n, "module", "ada", 20)
	h.ranked(n, "wins", "ada", 5+7+11) // not the 9 of what was neither signed nor allowed without a signature
}
