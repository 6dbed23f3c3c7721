package console

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
)

// OIDC is an identity provider whose access tokens the API accepts.
type OIDC struct {
	Issuer       string
	ClientID     string
	ClientSecret string // "" for a public client
	Scopes       []string
}

const (
	signInTTL      = 10 * time.Minute // from the start of a sign-in to its end
	providerTime   = 10 * time.Second // for one request to the provider
	maxProvider    = 1 << 20          // bytes of one answer of the provider
	providerRetain = time.Hour        // how long its discovery document is kept before it is read again
	providerPause  = 2 * time.Second  // between two reads that fail
)

// signInState is what a browser keeps between the start and the end of a sign-in.
type signInState struct {
	State, Nonce, Verifier, To string
	Expires                    time.Time
}

// issuer is the discovered identity provider.
type issuer struct {
	of     OIDC
	origin *url.URL
	now    func() time.Time
	reads  singleflight.Group

	mu       sync.Mutex
	provider *oidc.Provider
	err      error     // of the last read, if it failed
	due      time.Time // when to read again
}

// boundedTransport bounds the answers of a provider.
type boundedTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxProvider), res.Body}
	}
	return res, err
}

// context has the provider asked with bounds. It outlives requests, because the provider
// keeps it to read its keys.
func (i *issuer) context() context.Context {
	return oidc.ClientContext(context.Background(), &http.Client{
		Timeout: providerTime, Transport: boundedTransport{http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("the provider redirects") },
	})
}

// client returns the client of the provider, which is discovered when it is first needed. However
// many ask while it does not answer, it is asked once at a time, and nobody waits for the requests
// of others; what was read before stays in use.
func (i *issuer) client(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	provider, err, due := i.known()
	if due {
		read := i.reads.DoChan("", func() (any, error) {
			i.discover()
			return nil, nil //nolint:nilnil // it is kept
		})
		if provider == nil {
			select {
			case <-read:
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
			provider, err, _ = i.known()
		}
	}
	if provider == nil {
		return nil, nil, err
	}
	o := i.of
	return provider, &oauth2.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, Endpoint: provider.Endpoint(), Scopes: o.Scopes,
		RedirectURL: i.origin.Scheme + "://" + i.origin.Host + Root + "/sign-in/callback",
	}, nil
}

// known returns what is known of the provider, and whether it is time to read it again.
func (i *issuer) known() (provider *oidc.Provider, err error, due bool) { //nolint:revive // err is a value here
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.provider, i.err, !i.now().Before(i.due)
}

// discover reads the provider's document.
func (i *issuer) discover() {
	provider, err := oidc.NewProvider(i.context(), i.of.Issuer)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err = err; err != nil {
		i.due = i.now().Add(providerPause)
		return
	}
	i.provider, i.due = provider, i.now().Add(providerRetain)
}

// startOIDC sends the browser to the identity provider, from this site's own page. What another site
// starts, such as by the address of a picture, counts against no limit and leaves the cookie of a
// sign-in that runs.
func (c *signIns) startOIDC(w http.ResponseWriter, r *http.Request) {
	if site := r.Header.Get("Sec-Fetch-Site"); c.oidc.Issuer == "" ||
		site != "" && site != "same-origin" && site != "none" {
		askToSignIn(w, r)
		return
	}
	if c.overLimit(w, r) {
		return
	}
	_, client, err := c.issuer.client(r.Context())
	if err != nil {
		c.failOIDC(w, r, "discovery", err)
		return
	}
	s := signInState{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		To: localPath(r.URL.Query().Get("to")), Expires: c.now().Add(signInTTL),
	}
	c.sessions.setCookie(w, r, signInCookie, c.sessions.encrypt(purposeSignIn, s), signInTTL, http.SameSiteLaxMode)
	http.Redirect(w, r, client.AuthCodeURL(s.State, oidc.Nonce(s.Nonce), oauth2.S256ChallengeOption(s.Verifier)),
		http.StatusSeeOther)
}

// finishOIDC begins the session of a person whom the provider has authenticated. It
// answers with a page that leads on: the browser does not send a strict cookie in a
// request that another site has redirected here.
func (c *signIns) finishOIDC(w http.ResponseWriter, r *http.Request) {
	var s signInState
	k, err := r.Cookie(c.sessions.cookieName(r, signInCookie))
	q := r.URL.Query()
	if err != nil || c.oidc.Issuer == "" || !c.sessions.decrypt(purposeSignIn, k.Value, &s) ||
		!c.now().Before(s.Expires) ||
		!hmac.Equal([]byte(q.Get("state")), []byte(s.State)) {
		c.failOIDC(w, r, "state", errors.New("it was not started in this browser, or more than ten minutes ago"))
		return
	}
	c.sessions.setCookie(w, r, signInCookie, "", 0, http.SameSiteLaxMode)
	if code := q.Get("error"); code != "" {
		c.failOIDC(w, r, "authorization", errors.New("the identity provider answered "+firstRunes(code, 60)))
		return
	}
	if c.overLimit(w, r) {
		return
	}
	token, stage, err := c.exchange(r, &s, q)
	if err != nil {
		c.failOIDC(w, r, stage, err)
		return
	}
	if problem := c.beginWith(w, r, token); problem != nil {
		c.showSignIn(w, r, http.StatusUnauthorized, signInData{To: s.To, Problem: problem})
		return
	}
	w.Header().Set("Refresh", "0; url="+s.To)
	c.showSignIn(w, r, http.StatusOK, signInData{To: s.To, Continue: true})
}

// exchange returns the access token for the provider's code, after it has verified the ID
// token. On failure it returns the stage that failed.
func (c *signIns) exchange(r *http.Request, s *signInState, q url.Values) (token, stage string, err error) {
	provider, client, err := c.issuer.client(r.Context())
	if err != nil {
		return "", "discovery", err
	}
	ctx, cancel := context.WithTimeout(c.issuer.context(), providerTime)
	defer cancel()
	stop := context.AfterFunc(r.Context(), cancel)
	defer stop()
	answer, err := client.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(s.Verifier))
	if err != nil {
		return "", "code", err
	}
	raw, _ := answer.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: c.oidc.ClientID, Now: c.now}).Verify(ctx, raw)
	if err != nil {
		return "", "ID token", err
	}
	if !hmac.Equal([]byte(id.Nonce), []byte(s.Nonce)) {
		return "", "ID token", errors.New("the nonce is not that of the request")
	}
	if subjectOf(answer.AccessToken) != id.Subject {
		return "", "access token", errors.New("it is not a JWT of the person in the ID token")
	}
	return answer.AccessToken, "", nil
}

// subjectOf returns the sub of a token that the API verifies next, "" for none.
func subjectOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	var claims map[string]json.RawMessage // the fields of a struct would match names in any case
	var subject string
	if body, err := base64.RawURLEncoding.DecodeString(parts[1]); err == nil && json.Unmarshal(body, &claims) == nil {
		_ = json.Unmarshal(claims["sub"], &subject) // without a subject it is nobody's
	}
	return subject
}

// overLimit answers a client who starts or ends too many sign-ins: each has the provider asked.
func (c *signIns) overLimit(w http.ResponseWriter, r *http.Request) bool {
	wait := c.limit(r)
	if wait <= 0 {
		return false
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	c.showSignIn(w, r, http.StatusTooManyRequests, signInData{To: Root, Problem: &failure{
		Message: "Too many sign-ins from your address.", Next: "Wait a minute and sign in again.",
	}})
	return true
}

func (c *signIns) failOIDC(w http.ResponseWriter, r *http.Request, stage string, err error) {
	c.log.Warn("sign-in failed", "stage", stage, "request_id", r.Header.Get("X-Request-Id"), "err", err)
	c.showSignIn(w, r, http.StatusUnauthorized, signInData{To: Root, Problem: &failure{
		Message: "Sign-in did not succeed (" + stage + ").",
		Next:    "Sign in again. If it fails again, the log of the server says why.",
	}})
}

// firstRunes returns the beginning of a text.
func firstRunes(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + "…"
	}
	return text
}
