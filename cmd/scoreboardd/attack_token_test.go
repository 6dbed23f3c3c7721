package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/internal/test/fixtures"
)

// identity is an identity provider that signs with RS256, the usual algorithm.
type identity struct {
	*fixtures.KeyPublisher
	t   *testing.T
	key *rsa.PrivateKey
}

func newIdentity(t *testing.T) *identity {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return &identity{fixtures.PublishKeys(t, key), t, key}
}

// token returns a token of user with a scope, edited before it is signed with key.
func (p *identity) token(user, scope string, method jwt.SigningMethod, key any,
	edit func(header map[string]any, claims jwt.MapClaims),
) string {
	p.t.Helper()
	now := time.Now()
	claims := jwt.MapClaims{
		"sub": user, "scope": scope, "iss": "scoreboard-dev", "aud": "scoreboard",
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = "k"
	if edit != nil {
		edit(token.Header, claims)
	}
	text, err := token.SignedString(key)
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

func (p *identity) good(user, scope string) string {
	return p.token(user, scope, jwt.SigningMethodRS256, p.key, nil)
}

// tokens returns the attacks with bearer tokens.
func (s *attackSuite) tokens() (attacks []attack) {
	t, p, thief, now, alice, signed := s.t, s.p, s.thief, s.now, s.alice, s.signed
	der, err := x509.MarshalPKIXPublicKey(p.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	rs := func(edit func(map[string]any, jwt.MapClaims)) string {
		return p.token("alice", "", jwt.SigningMethodRS256, p.key, edit)
	}
	claim := func(name string, value any) string {
		return rs(func(_ map[string]any, c jwt.MapClaims) { c[name] = value })
	}
	parts := strings.Split(alice, ".")
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	tokens := func(name, token string) {
		attacks = append(attacks, attack{
			name: name, method: "POST", path: increment, token: token, body: signed(nil), status: 401,
			code: "unauthorized",
		})
	}
	tokens("no token", "")
	tokens("alg none", p.token("alice", "", jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil))
	tokens("alg none with a signature", part(`{"alg":"none","kid":"k"}`)+"."+parts[1]+"."+parts[2])
	tokens("alg nOnE", part(`{"alg":"nOnE","kid":"k"}`)+"."+parts[1]+".")
	tokens("RS256 to HS256 with the public key", p.token("alice", "", jwt.SigningMethodHS256, public, nil))
	tokens("RS256 to HS256 with the key's DER", p.token("alice", "", jwt.SigningMethodHS256, der, nil))
	tokens("HS256 with an empty secret", p.token("alice", "", jwt.SigningMethodHS256, []byte{}, nil))
	tokens("HS256 with the development secret", p.token("alice", "", jwt.SigningMethodHS256, []byte(jwtSecret), nil))
	tokens("PS256", p.token("alice", "", jwt.SigningMethodPS256, p.key, nil))
	tokens("unpublished key", p.token("alice", "", jwt.SigningMethodRS256, thief.key, nil))
	tokens("jku", p.token("alice", "", jwt.SigningMethodRS256, thief.key,
		func(h map[string]any, _ jwt.MapClaims) { h["jku"], h["kid"] = thief.URL, "t" }))
	tokens("jwk", p.token("alice", "", jwt.SigningMethodRS256, thief.key,
		func(h map[string]any, _ jwt.MapClaims) { h["jwk"] = map[string]any{"kty": "RSA", "kid": "k"} }))
	tokens("x5u", p.token("alice", "", jwt.SigningMethodRS256, thief.key,
		func(h map[string]any, _ jwt.MapClaims) { h["x5u"] = thief.URL }))
	tokens("crit", rs(func(h map[string]any, _ jwt.MapClaims) { h["crit"] = []string{"exp"} }))
	tokens("path as kid", rs(func(h map[string]any, _ jwt.MapClaims) { h["kid"] = "../../../dev/null" }))
	tokens("SQL as kid", rs(func(h map[string]any, _ jwt.MapClaims) { h["kid"] = "k' or '1'='1" }))
	tokens("no kid", rs(func(h map[string]any, _ jwt.MapClaims) { delete(h, "kid") }))
	tokens("wrong type", rs(func(h map[string]any, _ jwt.MapClaims) { h["typ"] = "logout+jwt" }))
	tokens("expired", claim("exp", now.Add(-time.Minute).Unix()))
	tokens("no exp", rs(func(_ map[string]any, c jwt.MapClaims) { delete(c, "exp") }))
	tokens("nbf in future", claim("nbf", now.Add(2*time.Minute).Unix()))
	tokens("wrong audience", claim("aud", "another"))
	tokens("no audience", rs(func(_ map[string]any, c jwt.MapClaims) { delete(c, "aud") }))
	tokens("wrong issuer", claim("iss", "another"))
	tokens("lifetime of a year", claim("exp", now.Add(365*24*time.Hour).Unix()))
	// Such users have ids of their own, derived from these.
	others := func(name, sub string) {
		tokens(name, claim("sub", sub))
		attacks[len(attacks)-1].status, attacks[len(attacks)-1].code = 403, "forbidden"
	}
	others("delimiter in sub", "alice|5")
	others("look-alike letter in sub", "аlice") // the first letter is Cyrillic
	others("derived id as sub", "x:mfwgsy3f")
	tokens("control character in sub", claim("sub", "alice\x00"))
	tokens("changed claims", parts[0]+"."+part(`{"sub":"alice","scope":"score:admin"}`)+"."+parts[2])
	tokens("dots", strings.Repeat(".", 4000))
	tokens("5000 bytes", strings.Repeat("a", 5000))
	tokens("fourth part", alice+".AAAA")
	attacks = append(attacks, attack{
		name: "token of 1 MB", method: "POST", path: increment,
		token: strings.Repeat("a", 1<<20), body: signed(nil), status: 431,
	})
	return attacks
}
