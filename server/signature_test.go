package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// In development the 401 of a wrong signature contains the text that was to be signed; in
// production it is the same for every reason.
func TestRejectedSignatureIsExplained(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	now := time.Now().UTC().Format(time.RFC3339)
	body := `{"user_id":"ada","delta":5,"event_id":"e-1","timestamp":"` + now + `","board":"global","key_id":"k-1",` +
		`"signature":"` + wire.Sign("wrong", []byte("ada|5|e-1|"+now)) + `"}`
	const path = "/v1/scores/increment"
	inHeaders := bearer(h.token("game", auth.ScopeUpdate, time.Hour))
	inHeaders.Set(wire.HeaderKey, "k-1")
	inHeaders.Set(wire.HeaderTimestamp, "1")
	inHeaders.Set(wire.HeaderSignature, wire.SignatureVersion+strings.Repeat("0", 64))
	for setting, explained := range map[string]bool{"true": true, "false": false} {
		n := h.start(allRoles, "auth-dev-issuer", setting)
		for want, header := range map[string]http.Header{
			`the text to sign is \"ada|5|e-1|` + now + `|global\", with the secret of the key \"k-1\"`: bearer(
				h.token("game", auth.ScopeUpdate, time.Hour)),
			`the text to sign is \"POST\\n` + path + `\\nk-1\\n1\\n`: inHeaders,
		} {
			status, _, got := request(t, http.MethodPost, n.URL+path, body, header)
			if status != http.StatusUnauthorized || strings.Contains(got, want) != explained ||
				strings.Contains(got, "text to sign") != explained || strings.Count(got, "invalid_signature") != 1 {
				t.Errorf("auth.dev_issuer %s: got %d %s, want %q in it: %t", setting, status, got, want, explained)
			}
		}
	}
}
