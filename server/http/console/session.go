package console

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/internal/publicnet"
)

// sessionTTL is the longest TTL of a session. One whose token expires earlier ends then.
const sessionTTL = 8 * time.Hour

// maxToken is the longest token of a session, in bytes: encrypted, it must fit into a cookie,
// of which browsers keep 4,096 bytes.
const maxToken = 2800

// session is a person who is signed in. It is what the encrypted cookie holds.
type session struct {
	ID      string    `json:"id"` // random; what the token of forms is derived from
	Token   string    `json:"token"`
	User    string    `json:"user"`
	Scopes  []string  `json:"scopes"`
	Expires time.Time `json:"expires"`

	operations operations // of this node
}

// Scopes of the API. An administrator may do what an operator may.
const (
	scopeOperate = "score:operate"
	scopeAdmin   = "score:admin"
)

// May reports whether the API lets the session's token do what requires a scope; "" is no
// scope. It only decides what is offered: the API checks again.
func (s *session) May(scope string) bool {
	return scope == "" || slices.Contains(s.Scopes, scope) ||
		scope == scopeOperate && slices.Contains(s.Scopes, scopeAdmin)
}

// scopeOf returns the scope that the API requires for an operation. One that this node does
// not serve requires more than anybody has.
func (s *session) scopeOf(operation string) string {
	if routes := s.operations[operation]; len(routes) > 0 {
		return routes[0].Scope
	}
	return "unknown"
}

// lacks is the failure of a session without a scope that something requires.
func lacks(scope string) *failure {
	return &failure{
		Status: http.StatusForbidden, Code: "forbidden", Message: "This requires the scope " + scope + ".",
		Next: nextSteps["forbidden"],
	}
}

// Purposes of encrypted texts. A text that was encrypted for one is not valid for another.
const (
	purposeSession = "session"
	purposeSignIn  = "sign-in"
)

// newCiphers returns the ciphers of keys, at least one.
func newCiphers(keys [][]byte) ([]cipher.AEAD, error) {
	if len(keys) == 0 {
		return nil, errors.New("the console has no key")
	}
	ciphers := make([]cipher.AEAD, len(keys))
	for i, key := range keys {
		if len(key) != 32 {
			return nil, fmt.Errorf("the console's key has %d bytes, not 32", len(key))
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("make the console's cipher: %w", err)
		}
		if ciphers[i], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, fmt.Errorf("make the console's cipher: %w", err)
		}
	}
	return ciphers, nil
}

// sessions encrypts sessions into cookies, and decrypts them.
type sessions struct {
	keys       [][]byte      // Options.Keys
	ciphers    []cipher.AEAD // of keys
	origin     *url.URL      // of the console; nil for none
	operations operations
	now        func() time.Time
}

// encrypt encrypts v for a purpose.
func (c *sessions) encrypt(purpose string, v any) string {
	plain, err := json.Marshal(v)
	if err != nil { // these types always marshal
		panic(err)
	}
	//nolint:gosec // G407: the cipher makes a random nonce for each text
	return base64.RawURLEncoding.EncodeToString(c.ciphers[0].Seal(nil, nil, plain, []byte(purpose)))
}

// decrypt decrypts into v what encrypt has returned for the same purpose, and reports whether it
// was.
func (c *sessions) decrypt(purpose, text string, v any) bool {
	encrypted, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	for _, aead := range c.ciphers {
		if plain, err := aead.Open(nil, nil, encrypted, []byte(purpose)); err == nil {
			return json.Unmarshal(plain, v) == nil
		}
	}
	return false
}

// Names of cookies, after the prefix of secure ones.
const (
	sessionCookie = "scoreboard-console"
	signInCookie  = "scoreboard-console-sign-in"
	securePrefix  = "__Host-"
)

// cookieName returns the name of a cookie: over TLS one that no other host of the domain
// can set.
func (c *sessions) cookieName(r *http.Request, name string) string {
	if c.secure(r) {
		return securePrefix + name
	}
	return name
}

// secure reports whether the browser uses TLS, perhaps up to a proxy.
func (c *sessions) secure(r *http.Request) bool {
	if c.origin != nil {
		return c.origin.Scheme == "https"
	}
	return r.TLS != nil
}

// setCookie sets a cookie that scripts cannot read; an empty value deletes it.
func (c *sessions) setCookie(
	w http.ResponseWriter, r *http.Request, name, value string, ttl time.Duration, site http.SameSite,
) {
	k := &http.Cookie{ //nolint:gosec // G124: without TLS, which checkHost allows on loopback only, Secure is off
		Name: c.cookieName(r, name), Value: value, Path: "/", Secure: c.secure(r), HttpOnly: true, SameSite: site,
		MaxAge: int(ttl.Seconds()),
	}
	if value == "" {
		k.MaxAge = -1
	}
	http.SetCookie(w, k)
}

// checkHost rejects requests under a name that is not the console's, so that no other name
// that resolves to this address can act for it. Without TLS only loopback addresses are
// accepted, because a session would be readable on the way.
func (c *sessions) checkHost(r *http.Request) *failure {
	if c.origin != nil {
		if strings.EqualFold(r.Host, c.origin.Host) {
			return nil
		}
		return &failure{
			Status: http.StatusMisdirectedRequest, Code: "forbidden",
			Message: "The console is not served under this address.",
			Next:    "Open " + c.origin.Scheme + "://" + c.origin.Host + Root + ", the setting console.url.",
		}
	}
	if r.TLS != nil || isLoopback(r.Host) {
		return nil
	}
	return &failure{
		Status: http.StatusMisdirectedRequest, Code: "forbidden", Message: "The console requires TLS at this address.",
		Next: "Open it by a loopback address, such as through an SSH tunnel or kubectl port-forward, or put it " +
			"behind TLS and set console.url to its https address.",
	}
}

// isLoopback reports whether a host, with or without a port, is this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return publicnet.IsLoopback(strings.Trim(host, "[]"))
}

// session returns the session of a request, nil for none.
func (c *sessions) session(r *http.Request) *session {
	k, err := r.Cookie(c.cookieName(r, sessionCookie))
	if err != nil {
		return nil
	}
	var s session
	if !c.decrypt(purposeSession, k.Value, &s) || !c.now().Before(s.Expires) {
		return nil
	}
	s.operations = c.operations
	return &s
}

// begin starts the session of a token that the API has accepted.
func (c *sessions) begin(w http.ResponseWriter, r *http.Request, token string, claims Claims) {
	s := session{
		ID: rand.Text(), Token: token, User: claims.User, Scopes: claims.Scopes, Expires: c.now().Add(sessionTTL),
	}
	if claims.Expires.Before(s.Expires) {
		s.Expires = claims.Expires
	}
	c.setCookie(w, r, sessionCookie, c.encrypt(purposeSession, s), s.Expires.Sub(c.now()), http.SameSiteStrictMode)
}

// Claims are what the console shows of a token.
type Claims struct {
	User    string
	Scopes  []string
	Expires time.Time
}

// formTokenField is the field with the token of a form.
const formTokenField = "form_token"

// formToken proves that a form was rendered for a session.
func (c *sessions) formToken(s *session) string { return formTokenOf(c.keys[0], s) }

func formTokenOf(key []byte, s *session) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("form " + s.ID))
	return hex.EncodeToString(mac.Sum(nil))
}

func (c *sessions) matchesFormToken(s *session, token string) bool {
	return slices.ContainsFunc(c.keys, func(key []byte) bool {
		return hmac.Equal([]byte(token), []byte(formTokenOf(key, s)))
	})
}
