package server_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/server/http/auth"
)

// signInProvider is an identity provider with the authorization code flow. It signs
// everyone in as who, and fails as a test asks.
type signInProvider struct {
	*provider
	t *testing.T

	mu    sync.Mutex
	who   string
	codes map[string]url.Values // the authorization requests
	spoil func(id jwt.MapClaims, access map[string]string)
	asked int // authorization requests
}

const consoleClient, consoleSecret = "console", "a secret of the console"

func newSignInProvider(t *testing.T) *signInProvider {
	t.Helper()
	p := &signInProvider{provider: newProvider(t, "key"), t: t, who: "olga", codes: make(map[string]url.Values)}
	keys := p.Config.Handler
	m := http.NewServeMux()
	m.Handle("GET /keys", keys)
	m.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.answer(w, map[string]any{
			"issuer":                                p.issuer,
			"authorization_endpoint":                p.issuer + "/authorize",
			"token_endpoint":                        p.issuer + "/token",
			"jwks_uri":                              p.issuer + "/keys",
			"id_token_signing_alg_values_supported": []string{"EdDSA"},
		})
	})
	m.HandleFunc("GET /authorize", p.authorize)
	m.HandleFunc("POST /token", p.exchange)
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	p.issuer = server.URL
	return p
}

func (p *signInProvider) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		p.t.Error(err)
	}
}

// authorize sends the browser back with a code.
func (p *signInProvider) authorize(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	q := r.URL.Query()
	if q.Get("response_type") != "code" || q.Get("client_id") != consoleClient ||
		q.Get("code_challenge_method") != "S256" ||
		q.Get("nonce") == "" ||
		q.Get("state") == "" ||
		q.Get("scope") != "openid score:admin" {
		p.t.Errorf("the authorization request is %v", q)
	}
	code := q.Get("state")[:8] + "code"
	p.codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// exchange answers a code once, for its verifier and redirect URI.
func (p *signInProvider) exchange(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	request := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code"))
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if id != consoleClient || secret != url.QueryEscape(consoleSecret) || request == nil ||
		request.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) ||
		request.Get("redirect_uri") != r.FormValue("redirect_uri") {
		w.WriteHeader(http.StatusBadRequest)
		p.answer(w, map[string]string{"error": "invalid_grant"})
		return
	}
	now := time.Now()
	claims := jwt.MapClaims{
		"sub": p.who, "iss": p.issuer, "aud": consoleClient, "nonce": request.Get("nonce"),
		"iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
	}
	access := map[string]string{"token": p.token(p.t, p.who, auth.ScopeAdmin)}
	if p.spoil != nil {
		p.spoil(claims, access)
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	token.Header["kid"] = p.name
	signed, err := token.SignedString(p.key)
	if err != nil {
		p.t.Error(err)
	}
	p.answer(w, map[string]any{"access_token": access["token"], "token_type": "Bearer", "id_token": signed})
}

// People sign in at an identity provider; a code, a state, a nonce or a token that is not
// of this sign-in is rejected.
func TestConsoleSignInByProvider(t *testing.T) {
	t.Parallel()
	p := newSignInProvider(t)
	h := newHarness(t)
	// The browser's address is not known before the node listens, so a proxy has it.
	var node http.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { node.ServeHTTP(w, r) }))
	t.Cleanup(front.Close)
	h.settings["auth-jwt-secret"], h.settings["auth-jwks-networks"] = "", "127.0.0.0/8,::1/128"
	h.settings["auth-jwks-url"], h.settings["auth-issuer"] = p.issuer+"/keys", p.issuer
	n := h.start(allRoles, "console-url", front.URL, "console-oidc-issuer", p.issuer, "console-oidc-client-id",
		consoleClient, "console-oidc-client-secret", consoleSecret)
	node = forward(t, n.Ops)

	v := newVisitor(t, front.URL)
	status, body, at := v.get("/console/sign-in/oidc?to=/console/keys")
	if status != http.StatusOK || !strings.Contains(at, "/sign-in/callback") ||
		!strings.Contains(body, `href="/console/keys">Continue`) {
		t.Fatalf("sign in: got %d at %s: %s", status, at, body)
	}
	if status, body, at := v.get("/console/keys"); status != http.StatusOK || at != "/console/keys" ||
		!strings.Contains(body, "<b>olga</b>") {
		t.Errorf("signed in: got %d at %s: %s", status, at, body)
	}
	// The callback of one sign-in is not another's: neither again, nor in another browser.
	for name, other := range map[string]*visitor{"again": v, "in another browser": newVisitor(t, front.URL)} {
		if status, body, _ := other.get(at); status != http.StatusUnauthorized || !strings.Contains(body, "(state)") {
			t.Errorf("the callback %s: got %d %s", name, status, body)
		}
	}
	for name, c := range map[string]struct {
		spoil func(id jwt.MapClaims, access map[string]string)
		want  string
	}{
		"another nonce":   {func(id jwt.MapClaims, _ map[string]string) { id["nonce"] = "x" }, "(ID token)"},
		"another client":  {func(id jwt.MapClaims, _ map[string]string) { id["aud"] = "x" }, "(ID token)"},
		"another issuer":  {func(id jwt.MapClaims, _ map[string]string) { id["iss"] = "https://x" }, "(ID token)"},
		"an old ID token": {func(id jwt.MapClaims, _ map[string]string) { id["exp"] = 1 }, "(ID token)"},
		"another person":  {func(id jwt.MapClaims, _ map[string]string) { id["sub"] = "eve" }, "(access token)"},
		"an opaque token": {func(_ jwt.MapClaims, a map[string]string) { a["token"] = "opaque" }, "(access token)"},
		"a token of 2.9kB": {
			func(_ jwt.MapClaims, a map[string]string) { a["token"] += strings.Repeat("a", 2900) }, "too long",
		},
	} {
		p.mu.Lock()
		p.spoil = c.spoil
		p.mu.Unlock()
		other := newVisitor(t, front.URL)
		if status, body, _ := other.get("/console/sign-in/oidc"); status != 401 || !strings.Contains(body, c.want) {
			t.Errorf("%s: got %d %s, want %s", name, status, body, c.want)
		}
		if _, _, at := other.get("/console/keys"); !strings.Contains(at, "sign-in") {
			t.Errorf("%s began a session", name)
		}
	}
	if status, body, _ := newVisitor(t, front.URL).get("/console/sign-in/callback?code=x&state="); status != 401 ||
		!strings.Contains(body, "(state)") {
		t.Errorf("a callback without a sign-in: got %d %s", status, body)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked != 8 {
		t.Errorf("the provider was asked %d times, want 8", p.asked)
	}
}

// forward is a reverse proxy that keeps the host of requests.
func forward(t *testing.T, to string) http.Handler {
	t.Helper()
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at)
		r.Out.Host = r.In.Host
	}}
}

// Sign-ins count by the address of the client, also behind a proxy, and apart from other requests
// without a token: any site can have a browser send those.
func TestSignInsCountByAddress(t *testing.T) {
	t.Parallel()
	p := newSignInProvider(t)
	h := newHarness(t)
	h.settings["auth-jwt-secret"], h.settings["auth-jwks-networks"] = "", "127.0.0.0/8,::1/128"
	h.settings["auth-jwks-url"], h.settings["auth-issuer"] = p.issuer+"/keys", p.issuer
	n := h.start(allRoles, "console-url", "https://ops.example", "console-oidc-issuer", p.issuer,
		"console-oidc-client-id", consoleClient, "console-oidc-client-secret", consoleSecret,
		"limit-anonymous-per-minute", "4", "trusted-proxies", "127.0.0.0/8")
	ask := func(url, address string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Forwarded-For", address)
		r.Host = "ops.example"
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	signIn := func(address string) int { return ask(n.Ops+"/console/sign-in/oidc", address) }
	until := func(what string, ask func() int) {
		t.Helper()
		for i := 0; ask() != http.StatusTooManyRequests; i++ {
			if i == 20 {
				t.Fatalf("%s have no limit", what)
			}
		}
	}
	until("requests without a token", func() int { return ask(n.URL+"/openapi.json", "203.0.113.1") })
	if got := signIn("203.0.113.1"); got != http.StatusSeeOther {
		t.Errorf("a sign-in after other requests: got %d, want 303", got)
	}
	until("sign-ins", func() int { return signIn("203.0.113.1") })
	if got := signIn("203.0.113.2"); got != http.StatusSeeOther {
		t.Errorf("a sign-in from another address: got %d, want 303", got)
	}
}
