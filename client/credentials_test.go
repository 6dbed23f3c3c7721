package client_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
)

// The client signs as in the test vectors that docs/signing.md publishes.
func TestSignerVectors(t *testing.T) {
	t.Parallel()
	all := fixtures.ReadSigningVectors(t, "../testdata/signing.json")
	signer := client.Signer{KeyID: all.KeyID, Secret: all.Secret}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	signed := 0
	for _, v := range all.Fields {
		var r wire.IncrementRequest
		if err := json.Unmarshal(v.Increment, &r); err != nil {
			t.Fatal(err)
		}
		if r.Timestamp != now.Format(time.RFC3339) {
			continue // the client's times are in UTC
		}
		signed++
		r.Timestamp = ""
		signer.Fields(&r, now)
		if r.Signature != v.Signature || r.KeyID != all.KeyID {
			t.Errorf("%s: got %s by %s, want %s", v.Name, r.Signature, r.KeyID, v.Signature)
		}
	}
	if signed < 5 {
		t.Errorf("only %d increments were signed", signed)
	}
	for _, v := range all.Headers {
		r, err := http.NewRequestWithContext(
			t.Context(), v.Method, "https://scores.example.com"+v.Target, strings.NewReader(v.Body),
		)
		if err != nil {
			t.Fatal(err)
		}
		signer.Headers(r, []byte(v.Body), now)
		if got := r.Header.Get(wire.HeaderSignature); got != v.Signature ||
			r.Header.Get(wire.HeaderTimestamp) != v.Timestamp {
			t.Errorf("%s: got %s, want %s", v.Name, got, v.Signature)
		}
	}
}
