package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A client of specification C: the user's token, a server's scope, or an attestation that
// names user, delta and action lets it write, and nothing else does.
func TestDeltaAttestations(t *testing.T) {
	t.Parallel()
	h, game := newHarness(t), fixtures.Ed25519(t)
	n := h.start(allRoles, "dialects", "delta", "auth-attestation-jwks-url", game.URL,
		"auth-jwks-networks", "127.0.0.0/8")
	attest := func(edit func(jwt.MapClaims)) string {
		c := jwt.MapClaims{"userId": "alice", "scoreDelta": 5, "actionId": "a-1", "iat": time.Now().Unix()}
		edit(c)
		return game.Sign(t, c)
	}
	same := func(jwt.MapClaims) {}
	good := map[string]any{"userId": "alice", "scoreDelta": 5, "actionId": "a-1", "timestamp": "2025-09-28T06:00:00Z"}
	submit := func(token string, edit func(map[string]any)) (int, string) {
		t.Helper()
		fields := maps.Clone(good)
		edit(fields)
		body, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{}
		if token != "" {
			header = bearer(token)
		}
		status, _, answer := request(t, http.MethodPost, n.URL+"/delta/v1/score/update", string(body), header)
		return status, answer
	}
	signed := func(jws string) func(map[string]any) {
		return func(f map[string]any) { f["signature"] = jws }
	}
	alice, bob := h.token("alice", "", time.Hour), h.token("bob", "", time.Hour)
	claim := func(name string, value any) string { return attest(func(c jwt.MapClaims) { c[name] = value }) }
	without := func(name string) string { return attest(func(c jwt.MapClaims) { delete(c, name) }) }
	now := time.Now().Unix()
	native := game.Sign(t, jwt.MapClaims{"user_id": "alice", "delta": 5, "event_id": "a-1", "iat": now})
	for name, c := range map[string]struct {
		token, jws string
		want       int
	}{
		"another user's token":               {bob, "", 401},
		"no token":                           {"", "", 401},
		"no token, of another user":          {"", claim("userId", "bob"), 401},
		"no token, forged":                   {"", fixtures.Ed25519(t).Sign(t, jwt.MapClaims{"userId": "alice"}), 401},
		"a token that only joins":            {h.token("bob", auth.ScopeJoin, time.Hour), attest(same), 401},
		"an attestation by an unknown key":   {bob, fixtures.Ed25519(t).Sign(t, jwt.MapClaims{"userId": "alice"}), 401},
		"of another user":                    {bob, claim("userId", "bob"), 401},
		"of another delta":                   {bob, claim("scoreDelta", 6), 401},
		"of another action":                  {bob, claim("actionId", "a-2"), 401},
		"of another board":                   {bob, claim("board", "arena"), 401},
		"without the user":                   {bob, without("userId"), 401},
		"without the delta":                  {bob, without("scoreDelta"), 401},
		"without the action":                 {bob, without("actionId"), 401},
		"in the native form":                 {bob, native, 401},
		"expired":                            {bob, claim("exp", now-3600), 400},
		"neither exp nor iat, an old event":  {bob, without("iat"), 400},
		"the user's token, of another delta": {alice, claim("scoreDelta", 6), 401},
	} {
		if status, answer := submit(c.token, signed(c.jws)); status != c.want {
			t.Errorf("%s: got %d %s, want %d", name, status, answer, c.want)
		}
	}
	for i, c := range []struct {
		name, token string
		edit        func(map[string]any)
	}{
		{"the first, by another user with an attestation", bob, signed(attest(same))},
		{"repeated so", bob, signed(attest(same))},
		{"repeated by the user", alice, func(map[string]any) {}},
		{"repeated with another delta", alice, func(f map[string]any) { f["scoreDelta"] = 7 }},
	} {
		if status, answer := submit(c.token, c.edit); status != 200 || answer != `{"newScore":5}` {
			t.Errorf("%d, %s: got %d %s, want 200 and the score 5", i, c.name, status, answer)
		}
	}
	want := 5
	for name, token := range map[string]string{"user": alice, "server": h.token("game", auth.ScopeUpdate, time.Hour)} {
		want += 2
		status, answer := submit(token, func(f map[string]any) { f["actionId"], f["scoreDelta"] = "by-"+name, 2 })
		if status != 200 || answer != fmt.Sprintf(`{"newScore":%d}`, want) {
			t.Errorf("by the %s's token: got %d %s, want %d", name, status, answer, want)
		}
	}
	// The native API trusts only its own form, and never instead of the scope.
	body := `{"user_id":"alice","delta":5,"event_id":"a-1","timestamp":"2025-09-28T06:00:00Z",` +
		`"attestation":"` + native + `"}`
	status, _, answer := request(t, http.MethodPost, n.URL+"/v1/scores/increment", body, bearer(bob))
	if status != http.StatusForbidden {
		t.Errorf("natively: got %d %s, want 403", status, answer)
	}
}
