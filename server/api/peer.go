package api

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// peer is the server that a client certificate speaks for, nil where there is
// none: a certificate by our authority, with a name that is on the list. It may
// act for any user, and what it submits counts as attested.
func (a *API) peer(r *http.Request) *auth.Claims {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(a.Peers) == 0 {
		return nil
	}
	leaf := r.TLS.VerifiedChains[0][0]
	name := leaf.Subject.CommonName
	if len(leaf.DNSNames) > 0 {
		name = leaf.DNSNames[0]
	}
	user, err := scoreboard.ParseUserID(name)
	if err != nil || !slices.Contains(a.Peers, name) {
		return nil
	}
	return &auth.Claims{User: user, Scopes: []string{auth.ScopeUpdate}, Expires: leaf.NotAfter}
}

// The headers of every answer: the API's answers are no pages, are not for
// caches, and are not to be framed. A handler of a page sets its own.
var (
	headerNoSniff  = []string{"nosniff"}
	headerNoStore  = []string{"no-store"}
	headerPolicy   = []string{"default-src 'none'; frame-ancestors 'none'"}
	headerReferrer = []string{"no-referrer"}
	headerTLS      = []string{"max-age=31536000"}
)

// protect sets the headers that keep browsers from misusing an answer.
func protect(c *gin.Context) {
	h := c.Writer.Header()
	h["X-Content-Type-Options"] = headerNoSniff
	h["Cache-Control"] = headerNoStore
	h["Content-Security-Policy"] = headerPolicy
	h["Referrer-Policy"] = headerReferrer
	if c.Request.TLS != nil {
		h["Strict-Transport-Security"] = headerTLS
	}
}
