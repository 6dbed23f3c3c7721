package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/scoreboard/scoreboard/client"
)

// referee is a game server that attests, and whose keys can be read at url.
type referee struct {
	url string
	key ed25519.PrivateKey
}

func newReferee(t *testing.T) *referee {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	jwk, err := jwkset.NewJWKFromKey(key, jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: "k"}})
	if err != nil {
		t.Fatal(err)
	}
	set := jwkset.NewMemoryStorage()
	if err := set.KeyWrite(t.Context(), jwk); err != nil {
		t.Fatal(err)
	}
	body, err := set.JSONPublic(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	t.Cleanup(s.Close)
	return &referee{s.URL, key}
}

// attest USER DELTA EVENT BOARD puts an attestation into $ATTESTATION.
func (r *referee) attest(ts *testscript.TestScript, _ bool, args []string) {
	delta, err := strconv.Atoi(args[1])
	ts.Check(err)
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{"user_id": args[0], "delta": delta, "event_id": args[2], "board": args[3]})
	token.Header["kid"] = "k"
	text, err := token.SignedString(r.key)
	ts.Check(err)
	ts.Setenv("ATTESTATION", text)
}

// action USER BOARD starts an action and puts its token into $ACTION.
func action(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		c, err := client.New(ts.Getenv("SBCTL_SERVER"), client.Options{Token: ts.Getenv("SBCTL_TOKEN")})
		ts.Check(err)
		defer c.Close()
		started, err := c.StartAction(t.Context(), client.ActionRequest{UserID: args[0], Board: args[1]})
		ts.Check(err)
		ts.Setenv("ACTION", started.ActionToken)
	}
}
