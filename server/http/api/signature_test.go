package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// The server accepts the test vectors that docs/signing.md publishes, at their time, and
// none of them when anything that is signed differs.
func TestSignatureVectors(t *testing.T) {
	t.Parallel()
	all := fixtures.ReadSigningVectors(t, "../../../testdata/signing.json")
	signed := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	now := signed
	r := newRig(t, 1000, func(r *rig) { r.clock = func() time.Time { return now } })
	r.sealed[all.KeyID] = r.ring.Encrypt(all.KeyID, all.Secret)
	token := r.token(r.tokens, "game", auth.ScopeUpdate)
	send := func(method, target, body string, header ...string) (status int, code string) {
		req := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		var e wire.Error
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
			t.Errorf("%s: %v", w.Body, err)
		}
		return w.Code, e.ErrorCode
	}
	const increment = "/v1/scores/increment"
	fields := func(v *fixtures.FieldsVector, edit func(map[string]any)) (status int, code string) {
		body := map[string]any{"key_id": all.KeyID, "signature": v.Signature}
		if err := json.Unmarshal(v.Increment, &body); err != nil {
			t.Fatal(err)
		}
		edit(body)
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return send(http.MethodPost, increment, string(text))
	}
	asIs := func(map[string]any) {}
	for i := range all.Fields {
		if status, code := fields(&all.Fields[i], asIs); status != http.StatusOK {
			t.Errorf("%s: got %d %s, want it accepted", all.Fields[i].Name, status, code)
		}
	}
	headers := func(v *fixtures.HeaderVector, body string) (status int, code string) {
		return send(v.Method, v.Target, body, wire.HeaderKey, all.KeyID,
			wire.HeaderTimestamp, v.Timestamp, wire.HeaderSignature, v.Signature)
	}
	accepted := 0
	for i := range all.Headers {
		v := &all.Headers[i]
		if !strings.HasPrefix(v.Target, "/v1/scores/") {
			continue // no signature is required there
		}
		accepted++
		if status, code := headers(v, v.Body); status != http.StatusOK {
			t.Errorf("%s: got %d %s, want it accepted", v.Name, status, code)
		}
	}
	if accepted < 2 {
		t.Errorf("got %d requests with a signature in the headers, want 2", accepted)
	}

	refused := func(what string, status int, code string) {
		t.Helper()
		if status != http.StatusUnauthorized || code != string(wire.CodeInvalidSignature) {
			t.Errorf("%s: got %d %s, want invalid_signature", what, status, code)
		}
	}
	first := &all.Fields[0]
	status, code := fields(first, func(body map[string]any) { body["delta"] = 6 })
	refused("another delta", status, code)
	status, code = fields(first, func(body map[string]any) { body["board"] = "weekly" })
	refused("a board", status, code)
	status, code = headers(&all.Headers[0], all.Headers[0].Body+" ")
	refused("another body", status, code)
	for _, off := range []time.Duration{61 * time.Second, -61 * time.Second} {
		now = signed.Add(off)
		status, code = fields(first, asIs)
		refused("after "+off.String(), status, code)
	}
}
