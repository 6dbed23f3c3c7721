package auth_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/publicnet"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// provider is an identity provider: it publishes keys and signs with them.
type provider struct {
	t      testing.TB
	server *httptest.Server
	reads  atomic.Int64

	mu     sync.Mutex
	names  []string
	keys   map[string]crypto.Signer
	answer func(http.ResponseWriter, *http.Request) // replaces the key set
}

func newProvider(t testing.TB) *provider {
	p := &provider{t: t, keys: map[string]crypto.Signer{}}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.reads.Add(1)
		p.mu.Lock()
		answer := p.answer
		p.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		_, _ = w.Write(p.set())
	}))
	t.Cleanup(p.server.Close)
	return p
}

func (p *provider) set() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	published := make(map[string]crypto.Signer)
	for _, kid := range p.names {
		published[kid] = p.keys[kid]
	}
	return fixtures.KeySet(p.t, published)
}

func (p *provider) publish(kid string, key crypto.Signer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys[kid] = key
	p.names = append(p.names, kid)
}

func (p *provider) withdraw(kid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, name := range p.names {
		if name == kid {
			p.names = append(p.names[:i:i], p.names[i+1:]...)
			return
		}
	}
	p.t.Fatalf("no such key %s", kid)
}

func (p *provider) answers(f func(http.ResponseWriter, *http.Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = f
}

// token signs alice's claims at noon, changed by edit.
func (p *provider) token(method jwt.SigningMethod, kid string, key any, edit func(*jwt.Token)) string {
	p.t.Helper()
	token := jwt.NewWithClaims(method, jwt.MapClaims{
		"sub": "alice", "iss": "iss", "aud": "aud", "scope": "score:update",
		"iat": noon.Unix(), "nbf": noon.Unix(), "exp": noon.Add(time.Hour).Unix(),
	})
	token.Header["kid"] = kid
	if edit != nil {
		edit(token)
	}
	text, err := token.SignedString(key)
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

func rsaKey(t testing.TB, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func ecKey(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func edKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// networksOf returns what the setting auth.jwks_networks allows.
func networksOf(prefixes ...string) publicnet.Networks {
	n := publicnet.Networks{Setting: "auth.jwks_networks"}
	for _, p := range prefixes {
		n.Allowed = append(n.Allowed, netip.MustParsePrefix(p))
	}
	return n
}

// loopback is where the providers of the tests are.
var loopback = networksOf("127.0.0.0/8", "::1/128")

// keySet reads the provider's keys under a clock that the test controls.
func (p *provider) keySet(now *atomic.Int64) *auth.KeySet {
	p.t.Helper()
	now.Store(noon.UnixNano())
	keys, err := auth.NewKeySet(
		p.server.URL,
		loopback,
		slog.New(slog.DiscardHandler),
		func() time.Time { return time.Unix(0, now.Load()) },
	)
	if err != nil {
		p.t.Fatal(err)
	}
	return keys
}

func (p *provider) tokens(keys *auth.KeySet, now *atomic.Int64) *auth.Tokens {
	return auth.NewProviderTokens(keys, auth.Policy{
		Issuer: "iss", Audience: "aud", ScopeClaims: []string{"scope"}, UserClaim: "sub", MaxTTL: 24 * time.Hour,
	},
		func() time.Time { return time.Unix(0, now.Load()) })
}

func codeOf(tokens *auth.Tokens, token string) wire.Code {
	_, err := tokens.Verify(context.Background(), token)
	return wire.CodeOf(err)
}

func TestProviderTokens(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	rs, es, ed := rsaKey(t, 2048), ecKey(t, elliptic.P256()), edKey(t)
	weak, p384 := rsaKey(t, 1024), ecKey(t, elliptic.P384())
	p.publish("rs", rs)
	p.publish("es", es)
	p.publish("ed", ed)
	p.publish("weak", weak)
	p.publish("p384", p384)
	var now atomic.Int64
	keys := p.keySet(&now)
	tokens := p.tokens(keys, &now)
	good := map[string]string{
		"RS256": p.token(jwt.SigningMethodRS256, "rs", rs, nil),
		"ES256": p.token(jwt.SigningMethodES256, "es", es, nil),
		"EdDSA": p.token(jwt.SigningMethodEdDSA, "ed", ed, nil),
	}
	for name, token := range good {
		c, err := tokens.Verify(t.Context(), token)
		if err != nil || c.User != "alice" || !c.Has(auth.ScopeUpdate) {
			t.Errorf("%s: got %+v, %v", name, c, err)
		}
	}
	der, err := x509.MarshalPKIXPublicKey(rs.Public())
	if err != nil {
		t.Fatal(err)
	}
	pemText := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	elsewhere := newProvider(t) // an attacker's key server
	stranger := rsaKey(t, 2048)
	elsewhere.publish("mine", stranger)
	header := func(name string, value any) func(*jwt.Token) { return func(t *jwt.Token) { t.Header[name] = value } }
	claim := func(name string, value any) func(*jwt.Token) {
		return func(t *jwt.Token) { t.Claims.(jwt.MapClaims)[name] = value }
	}
	refused := map[string]string{
		"RS to HS, the public key as the secret": p.token(jwt.SigningMethodHS256, "rs", pemText, nil),
		"RS to HS, its DER as the secret":        p.token(jwt.SigningMethodHS256, "rs", der, nil),
		"alg none": p.token(
			jwt.SigningMethodNone,
			"rs",
			jwt.UnsafeAllowNoneSignatureType,
			nil,
		),
		"PS256 with an RS256 key":            p.token(jwt.SigningMethodPS256, "rs", rs, nil),
		"RS512":                              p.token(jwt.SigningMethodRS512, "rs", rs, nil),
		"ES256 with an RS256 key's id":       p.token(jwt.SigningMethodES256, "rs", es, nil),
		"EdDSA with an ES256 key's id":       p.token(jwt.SigningMethodEdDSA, "es", ed, nil),
		"a weak RSA key":                     p.token(jwt.SigningMethodRS256, "weak", weak, nil),
		"another curve":                      p.token(jwt.SigningMethodES384, "p384", p384, nil),
		"an unpublished key with a known id": p.token(jwt.SigningMethodRS256, "rs", stranger, nil),
		"a key from the token's jku": p.token(
			jwt.SigningMethodRS256,
			"mine",
			stranger,
			header("jku", elsewhere.server.URL),
		),
		"a known id and a jku": p.token(
			jwt.SigningMethodRS256,
			"rs",
			stranger,
			header("jku", elsewhere.server.URL),
		),
		"a key inside the token": p.token(jwt.SigningMethodEdDSA, "ed", edKey(t), header("jwk", json.RawMessage(
			`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"ed"}`))),
		"x5u": p.token(jwt.SigningMethodRS256, "mine", stranger, header("x5u", elsewhere.server.URL)),
		"no kid": p.token(
			jwt.SigningMethodRS256,
			"rs",
			rs,
			func(t *jwt.Token) { delete(t.Header, "kid") },
		),
		"a kid that is a map": p.token(jwt.SigningMethodRS256, "rs", rs, header("kid", map[string]any{"a": 1})),
		"a path as kid":       p.token(jwt.SigningMethodRS256, "../../dev/null", rs, nil),
		"crit":                p.token(jwt.SigningMethodRS256, "rs", rs, header("crit", []string{"b64"})),
		"another type":        p.token(jwt.SigningMethodRS256, "rs", rs, header("typ", "logout+jwt")),
		"expired": p.token(
			jwt.SigningMethodRS256,
			"rs",
			rs,
			claim("exp", noon.Add(-31*time.Second).Unix()),
		),
		"nbf in future":     p.token(jwt.SigningMethodRS256, "rs", rs, claim("nbf", noon.Add(31*time.Second).Unix())),
		"wrong audience":    p.token(jwt.SigningMethodRS256, "rs", rs, claim("aud", []string{"else"})),
		"wrong issuer":      p.token(jwt.SigningMethodRS256, "rs", rs, claim("iss", "else")),
		"lifetime too long": p.token(jwt.SigningMethodRS256, "rs", rs, claim("exp", noon.Add(25*time.Hour).Unix())),
		"exp out of range":  p.token(jwt.SigningMethodRS256, "rs", rs, claim("exp", json.Number("1e300"))),
		"exp not a number":  p.token(jwt.SigningMethodRS256, "rs", rs, claim("exp", "tomorrow")),
	}
	for name, token := range refused {
		if code := codeOf(tokens, token); code != wire.CodeUnauthorized {
			t.Errorf("%s: got %q, want unauthorized", name, code)
		}
	}
	if n := elsewhere.reads.Load(); n != 0 {
		t.Errorf("the key server that tokens name was read %d times, want 0", n)
	}
}
