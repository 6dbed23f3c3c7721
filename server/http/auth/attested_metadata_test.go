package auth_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// An attestation covers the metadata of its increment: the same object, however it is written, and no other.
func TestAttestationsCoverMetadata(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	game := edKey(t)
	p.publish("game", game)
	var now atomic.Int64
	attestations := auth.NewAttestations(p.keySet(&now))
	for name, c := range map[string]struct {
		claim any
		sent  scoreboard.Metadata // in its canonical form
		want  wire.Code
	}{
		"the same":                   {json.RawMessage(`{"a":1,"b":"x"}`), `{"a":1,"b":"x"}`, ""},
		"the same, in another order": {json.RawMessage(`{"b":"\u0078","a":1.0}`), `{"a":1,"b":"x"}`, ""},
		"another value":              {json.RawMessage(`{"a":2}`), `{"a":1}`, forbidden},
		"only in the attestation":    {json.RawMessage(`{"a":1}`), ``, forbidden},
		"only in the increment":      {nil, `{"a":1}`, forbidden},
		"a list":                     {json.RawMessage(`[1]`), ``, forbidden},
		"a name twice":               {json.RawMessage(`{"a":1,"a":1}`), `{"a":1}`, forbidden},
		"none":                       {nil, ``, ""},
	} {
		claims := jwt.MapClaims{"user_id": "alice", "delta": 5, "event_id": "match-1", "iat": noon.Unix()}
		if c.claim != nil {
			claims["metadata"] = c.claim
		}
		jws := p.token(jwt.SigningMethodEdDSA, "game", game, func(t *jwt.Token) { t.Claims = claims })
		in := scoreboard.Increment{
			User: "alice", Delta: 5, Event: scoreboard.EventID{Text: "match-1"},
			Boards: []scoreboard.BoardID{"global"}, Metadata: c.sent,
		}
		got, err := attestations.Verify(t.Context(), jws, auth.NativeAttestation)
		if err == nil {
			err = got.Covers(&in)
		}
		if wire.CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
