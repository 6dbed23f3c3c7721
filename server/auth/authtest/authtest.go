// Package authtest publishes key sets and signs tokens in tests.
package authtest

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

// Set returns the key set (RFC 7517) of keys by their ids.
func Set(t testing.TB, keys map[string]crypto.Signer) []byte {
	t.Helper()
	set := jwkset.NewMemoryStorage()
	for name, key := range keys {
		o := jwkset.JWKMetadataOptions{KID: name, ALG: algorithm(key), USE: jwkset.UseSig}
		jwk, err := jwkset.NewJWKFromKey(key, jwkset.JWKOptions{Metadata: o})
		if err != nil {
			t.Fatal(err)
		}
		if err := set.KeyWrite(context.Background(), jwk); err != nil {
			t.Fatal(err)
		}
	}
	body, err := set.JSONPublic(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// algorithm returns the alg of a key, which most providers publish; "" for ECDSA, like
// those that do not.
func algorithm(key crypto.Signer) jwkset.ALG {
	switch key.(type) {
	case *rsa.PrivateKey:
		return jwkset.AlgRS256
	case ed25519.PrivateKey:
		return jwkset.AlgEdDSA
	}
	return ""
}

// Publisher serves the set of one key with the id k until the test ends.
type Publisher struct {
	URL   string
	Reads atomic.Int64 // of the set
	key   ed25519.PrivateKey
}

// Publish serves the set of a key.
func Publish(t testing.TB, key crypto.Signer) *Publisher {
	t.Helper()
	body, p := Set(t, map[string]crypto.Signer{"k": key}), &Publisher{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.Reads.Add(1)
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	p.URL = s.URL
	return p
}

// Ed25519 generates a key for Sign and serves its set.
func Ed25519(t testing.TB) *Publisher {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := Publish(t, key)
	p.key = key
	return p
}

// Sign returns a token with claims, signed by the key of Ed25519.
func (p *Publisher) Sign(t testing.TB, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	token.Header["kid"] = "k"
	text, err := token.SignedString(p.key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
