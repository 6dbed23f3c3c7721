package auth_test

import (
	"bytes"
	"crypto/ed25519"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Any text that is not an issued token is rejected as unauthorized.
func FuzzToken(f *testing.F) {
	now := noon
	tokens := auth.NewTokens(jwtSecret, "iss", "aud", clock(&now))
	good, _, err := tokens.Mint("alice", "score:update", time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	parts := strings.Split(good, ".")
	f.Add(parts[0], parts[1], parts[2])
	f.Add("eyJhbGciOiJub25lIn0", parts[1], "")
	f.Add("eyJhbGciOiJSUzI1NiIsImtpZCI6Ii4uLy4uIn0", parts[1], parts[2])
	f.Add("", "", "")
	f.Add("e30", "bnVsbA", "....")
	f.Fuzz(func(t *testing.T, header, claims, signature string) {
		text := header + "." + claims + "." + signature
		c, err := tokens.Verify(t.Context(), text)
		switch {
		case err == nil && text != good:
			t.Fatalf("%q is accepted as %+v", text, c)
		case err != nil && wire.CodeOf(err) != wire.CodeUnauthorized:
			t.Fatalf("%q: got %v, want unauthorized", text, err)
		}
	})
}

// Signed tokens with invalid claims are rejected too; accepted ones have a user and
// an expiry.
func FuzzClaims(f *testing.F) {
	now := noon
	tokens := auth.NewTokens(jwtSecret, "iss", "aud", clock(&now))
	f.Add([]byte(`{"sub":"alice","iss":"iss","aud":"aud","nbf":1,"exp":1900000000}`))
	f.Add([]byte(`{"sub":"alice","iss":"iss","aud":["aud"],"nbf":1e300,"exp":-1e300,"scope":5}`))
	f.Add([]byte(`{"sub":"al|ice","SUB":"bob","iss":"iss","aud":"aud","nbf":1,"exp":1900000000.5}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, claims []byte) {
		method := jwt.SigningMethodHS256
		token := jwt.New(method)
		text, err := token.SigningString()
		if err != nil {
			t.Fatal(err)
		}
		text = text[:strings.Index(text, ".")+1] + token.EncodeSegment(claims)
		signature, err := method.Sign(text, []byte(jwtSecret))
		if err != nil {
			t.Fatal(err)
		}
		c, err := tokens.Verify(t.Context(), text+"."+token.EncodeSegment(signature))
		if err != nil {
			if wire.CodeOf(err) != wire.CodeUnauthorized {
				t.Fatalf("%q: got %v, want unauthorized", claims, err)
			}
			return
		}
		if _, err := scoreboard.ParseUserID(string(c.User)); err != nil || c.Expires.Before(noon.Add(-30*time.Second)) {
			t.Fatalf("%q is accepted as %+v", claims, c)
		}
	})
}

// Any bytes parse to a key set within its bounds, or to an error.
func FuzzKeySet(f *testing.F) {
	f.Add([]byte(`{"keys":[]}`))
	f.Add(
		[]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`),
	)
	f.Add(
		[]byte(
			`{"keys":[{"kty":"RSA","kid":"a","n":"AA","e":"AQAB"},` +
				`{"kty":"EC","crv":"P-256","kid":"b","x":"AA","y":"AA"},{"kty":"oct","kid":"c","k":"AA"}]}`,
		),
	)
	f.Add([]byte(`{"keys":null}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if n, err := auth.CountKeys(body); err == nil && n > 64 {
			t.Fatalf("%d keys are kept", n)
		}
	})
}

// Only an issued action token is accepted.
func FuzzActionToken(f *testing.F) {
	tokens := actionTokens(f, "0f")
	good := tokens.Issue(&run)
	f.Add(good)
	f.Add("at1.")
	f.Add(good[:len(good)-1])
	f.Add(strings.ToUpper(good))
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := tokens.Verify(text); err == nil && text != good {
			t.Fatalf("%q is accepted as %+v", text, a)
		} else if err != nil && wire.CodeOf(err) != wire.CodeForbidden {
			t.Fatalf("%q: got %v, want forbidden", text, err)
		}
	})
}

// Any bytes may be signed as an action token; an accepted one names a board.
func FuzzActionPayload(f *testing.F) {
	tokens := actionTokens(f, "0f")
	f.Add(bytes.Repeat([]byte{0}, 24))
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		if a, err := tokens.Verify(tokens.SignAction(payload)); err == nil && len(a.Boards) == 0 {
			t.Fatalf("%q is accepted without a board", payload)
		}
	})
}

// A signature is valid only for its text, key and time.
func FuzzSignature(f *testing.F) {
	now := noon
	store := &keyStore{sealed: map[string][][]byte{}}
	ring, err := auth.NewKeyring(strings.Repeat("0f", 32), store, slog.New(slog.DiscardHandler), clock(&now))
	if err != nil {
		f.Fatal(err)
	}
	store.sealed["k1"] = [][]byte{ring.Encrypt("k1", "secret")}
	text := []byte("alice|5|e|2026-11-21T12:00:00Z")
	good := wire.Sign("secret", text)
	f.Add("k1", text, good, int64(0))
	f.Add("k1", text, strings.ToUpper(good), int64(61))
	f.Add("../k1", []byte("alice|50||2026"), "", int64(-61))
	f.Add("k1' or '1'='1", text, good+"00", int64(0))
	f.Fuzz(func(t *testing.T, key string, signed []byte, signature string, seconds int64) {
		_, err := ring.Check(t.Context(), key, signed, signature, time.Unix(noon.Unix()+seconds%1000, 0))
		if err != nil {
			if err.Error() != auth.ErrSignature().Error() {
				t.Fatalf("got %v, want the same error as for an unknown key", err)
			}
			return
		}
		if key != "k1" || !strings.EqualFold(signature, wire.Sign("secret", signed)) || seconds%1000 > 60 ||
			seconds%1000 < -60 {
			t.Fatalf("%q by %q over %q at %d is accepted", signature, key, signed, seconds)
		}
	})
}

// Only an attestation signed by a server is accepted.
func FuzzAttestation(f *testing.F) {
	p := newProvider(f)
	game := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	p.publish("game", game)
	var now atomic.Int64
	attestations := auth.NewAttestations(p.keySet(&now))
	good := p.token(jwt.SigningMethodEdDSA, "game", game, func(t *jwt.Token) {
		t.Claims = jwt.MapClaims{"user_id": "alice", "delta": 5, "event_id": "e"}
	})
	if _, err := attestations.Verify(f.Context(), good, auth.NativeAttestation); err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good + ".AAAA")
	f.Add("eyJhbGciOiJub25lIiwia2lkIjoiZ2FtZSJ9" + good[strings.Index(good, "."):])
	f.Add("...")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := attestations.Verify(t.Context(), text, auth.NativeAttestation)
		switch {
		case err == nil && text != good:
			t.Fatalf("%q is accepted as %+v", text, got)
		case err != nil && wire.CodeOf(err) != wire.CodeForbidden:
			t.Fatalf("%q: got %v, want forbidden", text, err)
		}
	})
}
