package server_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The settings auth.user_claim, auth.scope_claims and auth.client_ids decide which tokens a
// node accepts, whose they are, and what they allow.
func TestTokenClaimsFollowSettings(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "auth-user-claim", "email", "auth-scope-claims", "permissions", "auth-client-ids", "game")
	token := func(more jwt.MapClaims) http.Header {
		claims := jwt.MapClaims{
			"iss": "scoreboard-dev", "sub": "auth0|5f7c", "client_id": "game", "email": "ada@example.com",
			"email_verified": true, "scope": "score:admin", "iat": time.Now().Unix(),
			"exp": time.Now().Add(time.Hour).Unix(),
		}
		maps.Copy(claims, more)
		text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(jwtSecret))
		if err != nil {
			t.Fatal(err)
		}
		return bearer(text)
	}
	const body = `{"user_id":"ada@example.com","delta":5,"event_id":"e1","timestamp":"2026-11-21T12:00:00Z"}`
	const submit, record = "POST /v1/scores/increment", "GET /v1/admin/users/ada@example.com"
	for _, c := range []struct {
		name, route string
		claims      jwt.MapClaims
		want        int
	}{
		{"the user of auth.user_claim", submit, nil, http.StatusOK},
		{"an address that was not verified", submit, jwt.MapClaims{"email_verified": false}, http.StatusUnauthorized},
		{"a client that is not listed", submit, jwt.MapClaims{"client_id": "other"}, http.StatusUnauthorized},
		{"a scope in a claim that is not listed", record, nil, http.StatusForbidden},
		{"a scope in a listed claim", record, jwt.MapClaims{"permissions": []string{"score:operate"}}, http.StatusOK},
		{
			"a part of a scope", record,
			jwt.MapClaims{"permissions": []string{"scores/score:operate"}},
			http.StatusForbidden,
		},
	} {
		method, path, _ := strings.Cut(c.route, " ")
		sent := ""
		if method == http.MethodPost {
			sent = body
		}
		if status, _, answer := request(t, method, n.URL+path, sent, token(c.claims)); status != c.want {
			t.Errorf("%s: got %d %s, want %d", c.name, status, answer, c.want)
		}
	}
}
