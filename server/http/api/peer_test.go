package api_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A client certificate with a configured name may act for any user, and still needs
// signatures.
func TestClientCertificateActsAsServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1000)
	ask := func(name string, verified bool, body string) int {
		t.Helper()
		req := httptest.NewRequestWithContext(
			t.Context(),
			http.MethodPost,
			"/v1/scores/increment",
			strings.NewReader(body),
		)
		req.Header.Set("Content-Type", "application/json")
		req.TLS = &tls.ConnectionState{}
		leaf := &x509.Certificate{Subject: pkix.Name{CommonName: name}}
		req.TLS.PeerCertificates = []*x509.Certificate{leaf}
		if verified {
			req.TLS.VerifiedChains = [][]*x509.Certificate{{leaf}}
		}
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		if got := w.Header().Get("Strict-Transport-Security"); got != "max-age=31536000" { // a year
			t.Errorf("Strict-Transport-Security over TLS is %q", got)
		}
		return w.Code
	}
	good := increment("alice", "e1", "k1", "s1")
	for name, c := range map[string]struct {
		name     string
		verified bool
		body     string
		want     int
	}{
		"configured name": {"arena-1", true, good, http.StatusOK},
		"other name":      {"arena-2", true, good, http.StatusUnauthorized},
		"longer name":     {"arena-11", true, good, http.StatusUnauthorized},
		"unverified":      {"arena-1", false, good, http.StatusUnauthorized},
		"wrong signature": {"arena-1", true, increment("alice", "e2", "k1", "wrong"), http.StatusUnauthorized},
	} {
		if got := ask(c.name, c.verified, c.body); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
	// For boards that require an attestation, the certificate counts as one and a
	// server's token does not.
	ask("arena-1", true, good)
	if !r.last.Attested || r.last.Signer != "arena-1" {
		t.Errorf("with a certificate: got %+v, want it attested", r.last)
	}
	r.want(
		"with a token",
		http.StatusOK,
		"",
		"POST",
		"/v1/scores/increment",
		r.token(r.tokens, "game", auth.ScopeUpdate),
		good,
	)
	if r.last.Attested {
		t.Errorf("with a token: got %+v, want it not attested", r.last)
	}
}

// unusualPeers are configured names of client certificates that the server makes itself, or that no user has.
var unusualPeers = []string{
	"team:ants", "erased-abc", "role:scoreboard", "scoreboardd", "~k3vq7m2xh5bwc6ta", "me", "arena 1", "x:abc",
}

// A client certificate with such a name acts under the id that the name would get in a token, never under
// the name itself.
func TestCertificatesWithReservedNames(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1000)
	for i, name := range unusualPeers {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/scores/increment",
			strings.NewReader(increment("alice", fmt.Sprintf("e%d", i), "k1", "s1")))
		req.Header.Set("Content-Type", "application/json")
		leaf := &x509.Certificate{Subject: pkix.Name{CommonName: "other"}, DNSNames: []string{name}}
		req.TLS = &tls.ConnectionState{
			PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: [][]*x509.Certificate{{leaf}},
		}
		w := httptest.NewRecorder()
		r.last = scoreboard.Increment{}
		r.ServeHTTP(w, req)
		want, err := scoreboard.ExternalUserID(name)
		if err != nil || w.Code != http.StatusOK || r.last.Signer != string(want) ||
			!strings.HasPrefix(string(want), "x:") || string(want) == name {
			t.Errorf("%s: %d %s signed by %q, want %q, %v", name, w.Code, w.Body, r.last.Signer, want, err)
		}
	}
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1000)
	for _, target := range []string{"/v1/leaderboard/top", "/v1/nothing", "/nothing"} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		req.Header.Set("X-Request-Id", "a\tb<script>")
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		for name, want := range map[string]string{
			"X-Content-Type-Options":  "nosniff",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
			"Referrer-Policy":         "no-referrer",
			"Cache-Control":           "no-store",
			"Content-Type":            "application/json",
			"Server":                  "",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", target, name, got, want)
			}
		}
		if id := w.Header().Get("X-Request-Id"); len(id) != 32 || strings.Contains(id, "<") {
			t.Errorf("%s: an invalid request id is returned as %q", target, id)
		}
	}
}
