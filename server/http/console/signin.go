package console

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// signInData is the content of the sign-in page.
type signInData struct {
	To          string // where to go afterwards
	OIDC, Dev   bool
	Issuer      string
	Problem     *failure
	Continue    bool // only leads on, from this site
	SignedOut   bool
	TokenLength int
}

// askToSignIn leads to the sign-in page, and from there back.
func askToSignIn(w http.ResponseWriter, r *http.Request) {
	target := Root + "/sign-in"
	if r.Method == http.MethodGet {
		target += "?" + url.Values{"to": {r.URL.RequestURI()}}.Encode()
	}
	http.Redirect(w, r, target, http.StatusSeeOther)
}

// localPath returns a path of the console, or its root for anything else.
func localPath(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Host != "" || u.Scheme != "" || u.Path != Root && !strings.HasPrefix(u.Path, Root+"/") ||
		strings.Contains(u.Path, "..") || strings.HasPrefix(u.Path, Root+"/sign-") {
		return Root
	}
	return u.RequestURI()
}

// signIns begins and ends sessions.
type signIns struct {
	sessions *sessions
	screen   *renderer
	caller   *caller
	oidc     OIDC
	issuer   issuer
	limit    func(*http.Request) time.Duration
	mint     func() (string, error) // nil for none
	verify   func(ctx context.Context, token string) (Claims, error)
	log      *slog.Logger
	now      func() time.Time
}

func (c *signIns) signInPage(w http.ResponseWriter, r *http.Request) {
	c.showSignIn(w, r, http.StatusOK, signInData{
		To: localPath(r.URL.Query().Get("to")), SignedOut: r.URL.Query().Has("signed-out"),
	})
}

func (c *signIns) showSignIn(w http.ResponseWriter, r *http.Request, status int, d signInData) {
	d.OIDC, d.Dev, d.Issuer, d.TokenLength = c.oidc.Issuer != "", c.mayMint(r), c.oidc.Issuer, maxToken
	c.screen.render(w, r, status, "sign-in", &view{Title: "Sign in", Data: d})
}

// mayMint reports whether a request may sign in by one click: in development, from this
// machine.
func (c *signIns) mayMint(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return c.mint != nil && err == nil && isLoopback(host) && isLoopback(r.Host)
}

// signIn begins a session with a pasted token, or one that is issued for development. Its
// form needs no session: requests of other sites are rejected before.
func (c *signIns) signIn(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		c.screen.fail(
			w,
			r,
			&failure{Status: http.StatusBadRequest, Code: "invalid_request", Message: "The form could not be read."},
		)
		return
	}
	to, token := localPath(r.PostForm.Get("to")), strings.TrimSpace(r.PostForm.Get("token"))
	if r.PostForm.Get("method") == "development" && c.mayMint(r) {
		var err error
		if token, err = c.mint(); err != nil {
			c.log.Warn("sign-in of development failed", "request_id", r.Header.Get("X-Request-Id"), "err", err)
			c.showSignIn(w, r, http.StatusServiceUnavailable, signInData{To: to, Problem: &failure{
				Message: "The server cannot issue a token yet.", Next: "Try again in a few seconds.",
			}})
			return
		}
	}
	if problem := c.beginWith(w, r, token); problem != nil {
		c.showSignIn(w, r, http.StatusUnauthorized, signInData{To: to, Problem: problem})
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // G710: localPath admits pages of the console only
}

// beginWith begins a session if the API accepts the token.
func (c *signIns) beginWith(w http.ResponseWriter, r *http.Request, token string) *failure {
	switch {
	case token == "":
		return &failure{Message: "The token is missing.", Next: "Paste a token, such as from “scoreboardd token”."}
	case len(token) > maxToken:
		return &failure{
			Message: "The token is too long for a session.",
			Next:    "Have the identity provider leave claims out that scoreboard does not need.",
		}
	}
	call := c.caller.as(r, &session{Token: token})
	if err := call.get("/v1/boards", url.Values{"limit": {"1"}}, nil); err != nil {
		f := failureOf(err)
		if f.Status == http.StatusUnauthorized {
			f.Message = "The server does not accept this token."
			f.Next = "Check that it has not expired, and that its issuer and audience are those of this server."
		}
		return f
	}
	claims, err := c.verify(r.Context(), token)
	if err != nil {
		return failureOf(err)
	}
	c.sessions.begin(w, r, token, claims)
	return nil
}

// signOut ends the session in this browser.
func (c *signIns) signOut(w http.ResponseWriter, r *http.Request, _ *session) error {
	c.sessions.setCookie(w, r, sessionCookie, "", 0, http.SameSiteStrictMode)
	w.Header().Set("Clear-Site-Data", `"storage"`)
	http.Redirect(w, r, Root+"/sign-in?signed-out=1", http.StatusSeeOther)
	return nil
}
