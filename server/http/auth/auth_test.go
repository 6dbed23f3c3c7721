package auth_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func clock(at *time.Time) func() time.Time { return func() time.Time { return *at } }

const jwtSecret = "a secret of the tests, long enough for HS256"

func TestTokens(t *testing.T) {
	t.Parallel()
	now := noon
	tokens := auth.NewTokens(jwtSecret, "iss", "aud", clock(&now))
	good, expires, err := tokens.Mint("alice", "score:update score:admin", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tokens.Verify(t.Context(), good)
	if err != nil || c.User != "alice" || !c.Has(auth.ScopeUpdate) || !c.Has(auth.ScopeAdmin) || c.Has("score") ||
		!c.Expires.Equal(expires) {
		t.Fatalf("got %+v, %v", c, err)
	}
	sign := func(method jwt.SigningMethod, key any, edit func(jwt.MapClaims)) string {
		claims := jwt.MapClaims{
			"sub": "alice",
			"iss": "iss",
			"aud": "aud",
			"exp": noon.Add(time.Hour).Unix(),
			"nbf": noon.Unix(),
			"iat": noon.Unix(),
		}
		edit(claims)
		s, err := jwt.NewWithClaims(method, claims).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	hs256 := func(edit func(jwt.MapClaims)) string { return sign(jwt.SigningMethodHS256, []byte(jwtSecret), edit) }
	if _, err := tokens.Verify(t.Context(), hs256(func(jwt.MapClaims) {})); err != nil {
		t.Fatalf("the token on which the invalid ones are based: %v", err)
	}
	header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))
	headed := func(name string, value any) string {
		token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
			"sub": "alice", "iss": "iss", "aud": "aud", "exp": noon.Add(time.Hour).Unix(), "nbf": noon.Unix(),
		})
		token.Header[name] = value
		s, err := token.SignedString([]byte(jwtSecret))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if _, err := tokens.Verify(t.Context(), hs256(func(c jwt.MapClaims) { delete(c, "nbf") })); err != nil {
		t.Errorf("without nbf, which RFC 7519 makes optional: %v", err)
	}
	if _, err := tokens.Verify(t.Context(), headed("typ", "at+jwt")); err != nil {
		t.Errorf("an access token by its type: %v", err)
	}
	padded := func(n int) string {
		return hs256(func(c jwt.MapClaims) { c["x"] = strings.Repeat("a", n) })
	}
	if _, err := tokens.Verify(t.Context(), padded(2500)); err != nil {
		t.Errorf("a long token: %v", err)
	}
	// raw signs a header and claims as they are written.
	raw := func(header, claims string) string {
		b64 := base64.RawURLEncoding.EncodeToString
		text := b64([]byte(header)) + "." + b64([]byte(claims))
		signature, err := jwt.SigningMethodHS256.Sign(text, []byte(jwtSecret))
		if err != nil {
			t.Fatal(err)
		}
		return text + "." + b64(signature)
	}
	const plainHeader = `{"alg":"HS256"}`
	claimed := func(more string) string {
		return fmt.Sprintf(`{"sub":"alice","iss":"iss","aud":"aud","exp":%d,"nbf":%d%s}`,
			noon.Add(time.Hour).Unix(), noon.Unix(), more)
	}
	c, err = tokens.Verify(t.Context(),
		raw(plainHeader, claimed(`,"Scope":"score:admin","SUB":"bob","\u017fub":"bob","aUd":["else"],"EXP":1`)))
	if err != nil || c.User != "alice" || len(c.Scopes) > 0 {
		t.Errorf("claims in other cases: got %+v, %v, want them ignored", c, err)
	}
	refused := map[string]string{
		"claim twice":       raw(plainHeader, claimed(`,"sub":"bob"`)),
		"claim escaped":     raw(plainHeader, claimed(`,"\u0073ub":"bob"`)),
		"unknown twice":     raw(plainHeader, claimed(`,"x":1,"x":2`)),
		"header twice":      raw(`{"alg":"HS256","alg":"HS256"}`, claimed("")),
		"claims in case":    raw(plainHeader, strings.Replace(claimed(""), `"sub"`, `"Sub"`, 1)),
		"too long":          padded(3000),
		"crit":              headed("crit", []string{"exp"}),
		"other type":        headed("typ", "action+jwt"),
		"type not a string": headed("typ", 5),
		"empty":             "",
		"dots":              strings.Repeat(".", 100),
		"a megabyte":        strings.Repeat("a", 1<<20),
		"alg none":          sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, func(jwt.MapClaims) {}),
		"alg swapped":       header + good[strings.Index(good, "."):],
		"HS512":             sign(jwt.SigningMethodHS512, []byte(jwtSecret), func(jwt.MapClaims) {}),
		"other secret":      sign(jwt.SigningMethodHS256, []byte("another"), func(jwt.MapClaims) {}),
		"expired":           hs256(func(c jwt.MapClaims) { c["exp"] = noon.Add(-time.Minute).Unix() }),
		"no exp":            hs256(func(c jwt.MapClaims) { delete(c, "exp") }),
		"issued in future":  hs256(func(c jwt.MapClaims) { c["iat"] = noon.Add(time.Minute).Unix() }),
		"no audience":       hs256(func(c jwt.MapClaims) { delete(c, "aud") }),
		"nbf in future":     hs256(func(c jwt.MapClaims) { c["nbf"] = noon.Add(time.Minute).Unix() }),
		"other issuer":      hs256(func(c jwt.MapClaims) { c["iss"] = "else" }),
		"no issuer":         hs256(func(c jwt.MapClaims) { delete(c, "iss") }),
		"wrong audience":    hs256(func(c jwt.MapClaims) { c["aud"] = "else" }),
		"no sub":            hs256(func(c jwt.MapClaims) { delete(c, "sub") }),
		"sub with a NUL":    hs256(func(c jwt.MapClaims) { c["sub"] = "al\x00ice" }),
		"sub too long":      hs256(func(c jwt.MapClaims) { c["sub"] = strings.Repeat("a", 256) }),
		"one bit off":       good[:len(good)-2] + "AA",
	}
	for name, token := range refused {
		if _, err := tokens.Verify(t.Context(), token); wire.CodeOf(err) != wire.CodeUnauthorized {
			t.Errorf("%s: got %v, want unauthorized", name, err)
		}
	}
	now = expires.Add(29 * time.Second)
	if _, err := tokens.Verify(t.Context(), good); err != nil {
		t.Errorf("within the leeway: %v", err)
	}
	now = expires.Add(31 * time.Second)
	if _, err := tokens.Verify(t.Context(), good); wire.CodeOf(err) != wire.CodeUnauthorized {
		t.Errorf("an expired cached token: got %v, want unauthorized", err)
	}
}

func TestTokenMaxTTL(t *testing.T) {
	t.Parallel()
	now := noon
	tokens := auth.NewTokens(jwtSecret, "iss", "aud", clock(&now))
	mint := func(ttl time.Duration) string {
		token, _, err := tokens.Mint("alice", "", ttl)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	day, longer := mint(24*time.Hour), mint(24*time.Hour+time.Second)
	if _, err := tokens.Verify(t.Context(), longer); err != nil {
		t.Fatalf("without a maximum: %v", err)
	}
	tokens.Configure(auth.Policy{Issuer: "iss", Audience: "aud", UserClaim: "sub", MaxTTL: 24 * time.Hour})
	if _, err := tokens.Verify(t.Context(), day); err != nil {
		t.Errorf("with the maximum lifetime: %v", err)
	}
	if _, err := tokens.Verify(t.Context(), longer); wire.CodeOf(err) != wire.CodeUnauthorized {
		t.Errorf("a cached token over the new maximum: got %v, want unauthorized", err)
	}
	undated, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": "alice", "iss": "iss", "aud": "aud", "exp": noon.Add(time.Hour).Unix(), "nbf": noon.Unix(),
	}).SignedString([]byte(jwtSecret))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Verify(t.Context(), undated); wire.CodeOf(err) != wire.CodeUnauthorized {
		t.Errorf("without iat: got %v, want unauthorized", err)
	}
	tokens.Configure(auth.Policy{Issuer: "else", Audience: "aud", UserClaim: "sub"})
	if _, err := tokens.Verify(t.Context(), day); wire.CodeOf(err) != wire.CodeUnauthorized {
		t.Errorf("cached under the former issuer: got %v, want unauthorized", err)
	}
}

type keyStore struct {
	sealed map[string][][]byte
	ends   map[string][2]time.Time // when the key expires, and when its first secret retires
	err    error
	reads  int
}

func (s *keyStore) SigningKeys(_ context.Context, ids []string) (map[string]*scoreboard.SigningKey, error) {
	s.reads++
	if s.err != nil {
		return nil, s.err
	}
	keys := make(map[string]*scoreboard.SigningKey)
	for _, id := range ids {
		if s.sealed[id] == nil {
			continue
		}
		k := &scoreboard.SigningKey{Expires: s.ends[id][0], Scope: scoreboard.KeyScope{UserPrefix: "eu:"}}
		for _, sealed := range s.sealed[id] {
			k.Secrets = append(k.Secrets, scoreboard.EncryptedSecret{Encrypted: sealed})
		}
		k.Secrets[0].Retires = s.ends[id][1]
		keys[id] = k
	}
	return keys, nil
}

func TestKeyring(t *testing.T) {
	t.Parallel()
	now := noon
	var logged strings.Builder
	store := &keyStore{sealed: map[string][][]byte{}}
	log := slog.New(slog.NewTextHandler(&logged, nil))
	ring, err := auth.NewKeyring([]string{strings.Repeat("0f", 32)}, store, log, clock(&now))
	if err != nil {
		t.Fatal(err)
	}
	store.sealed["k1"] = [][]byte{ring.Encrypt("k1", "old"), ring.Encrypt("k1", "new")}
	store.sealed["moved"] = [][]byte{ring.Encrypt("k1", "old")}
	text := []byte("alice|5|e|2026-11-21T12:00:00Z")
	check := func(key, secret string, at time.Time) error {
		scope, err := ring.Check(t.Context(), key, text, wire.Sign(secret, text), at)
		if (err == nil) != (scope != nil && scope.UserPrefix == "eu:") {
			t.Errorf("%s with %s: got scope %+v and %v", key, secret, scope, err)
		}
		return err
	}
	only := func(_ *scoreboard.KeyScope, err error) error { return err }
	for _, secret := range []string{"old", "new"} {
		if err := check("k1", secret, noon.Add(-60*time.Second)); err != nil {
			t.Errorf("a live secret: %v", err)
		}
	}
	same := auth.ErrSignature().Error()
	refused := map[string]error{
		"unknown key":  check("k2", "old", noon),
		"no key":       check("", "old", noon),
		"wrong secret": check("k1", "else", noon),
		"too old":      check("k1", "old", noon.Add(-61*time.Second)),
		"too early":    check("k1", "old", noon.Add(61*time.Second)),
		"not hex":      only(ring.Check(t.Context(), "k1", text, "zz", noon)),
		"cut":          only(ring.Check(t.Context(), "k1", text, wire.Sign("old", text)[:62], noon)),
		"last digit":   only(ring.Check(t.Context(), "k1", text, bent(wire.Sign("old", text), 63), noon)),
		"first digit":  only(ring.Check(t.Context(), "k1", text, bent(wire.Sign("old", text), 0), noon)),
		"other text":   only(ring.Check(t.Context(), "k1", []byte("alice|6"), wire.Sign("old", text), noon)),
	}
	for name, err := range refused {
		if err == nil || err.Error() != same {
			t.Errorf("%s: got %v, want the same error as for an unknown key", name, err)
		}
	}
	for range 2 {
		if err := check("moved", "old", noon); err == nil || err.Error() != same {
			t.Errorf("a secret that cannot be decrypted: got %v, want the error of an unknown key", err)
		}
	}
	if n := strings.Count(logged.String(), "key moved"); n != 1 {
		t.Errorf("it was logged %d times, want once:\n%s", n, logged.String())
	}

	store.err = errors.New("away")
	now = noon.Add(2 * time.Second)
	if err := check("k1", "old", now); err != nil {
		t.Errorf("a cached key while the store is unavailable: %v", err)
	}
	store.err, store.ends = nil, map[string][2]time.Time{"k1": {{}, noon.Add(4 * time.Second)}}
	now = noon.Add(3500 * time.Millisecond)
	if err := check("k1", "old", now); err != nil {
		t.Errorf("a secret before it retires: %v", err)
	}
	now, store.err = noon.Add(4*time.Second), errors.New("away")
	if err := check("k1", "old", now); err == nil {
		t.Error("a retired secret is accepted from the cache")
	}
	if err := check("k1", "new", now); err != nil {
		t.Errorf("the secret after it: %v", err)
	}
	store.err, store.ends = nil, map[string][2]time.Time{"k1": {noon.Add(6 * time.Second), {}}}
	now = noon.Add(5500 * time.Millisecond)
	if err := check("k1", "new", now); err != nil {
		t.Errorf("a key before it expires: %v", err)
	}
	now, store.err = noon.Add(6*time.Second), errors.New("away")
	if err := check("k1", "new", now); err == nil {
		t.Error("an expired key is accepted from the cache")
	}
	store.err, store.ends = nil, nil
	now = now.Add(time.Second)
	if err := check("k1", "new", now); err != nil {
		t.Errorf("with a later expiry: %v", err)
	}
	store.sealed["k1"] = [][]byte{ring.Encrypt("k1", "newer")}
	if err := check("k1", "newer", now); err != nil {
		t.Errorf("rotated on another node: %v", err)
	}
	for name, c := range map[string][2]string{"known": {"k1", "else"}, "unknown": {"k9", "else"}} {
		before := store.reads
		for range 10 {
			_ = check(c[0], c[1], now)
		}
		if got := store.reads - before; got != 10 {
			t.Errorf("10 failures of a key that is %s: got %d reads, want 10", name, got)
		}
	}
	store.err, store.sealed["k1"] = nil, nil
	now = now.Add(time.Second)
	if err := check("k1", "old", now); err == nil {
		t.Error("a revoked key is accepted after the cache time of a second")
	}
}

// bent changes one digit of a signature.
func bent(signature string, at int) string {
	digit := "0"
	if signature[at] == '0' {
		digit = "1"
	}
	return signature[:at] + digit + signature[at+1:]
}

func BenchmarkTokenAndSignature(b *testing.B) {
	tokens := auth.NewTokens(jwtSecret, "iss", "aud", time.Now)
	token, _, err := tokens.Mint("alice", "score:update", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	store := &keyStore{sealed: map[string][][]byte{}}
	ring, err := auth.NewKeyring([]string{strings.Repeat("0f", 32)}, store, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	store.sealed["k1"] = [][]byte{ring.Encrypt("k1", "secret")}
	text := []byte("alice|5|3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b|2026-11-21T12:00:00Z")
	signature := wire.Sign("secret", text)
	for b.Loop() {
		if _, err := tokens.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
		if _, err := ring.Check(b.Context(), "k1", text, signature, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}
