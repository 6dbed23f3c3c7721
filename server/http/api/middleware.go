package api

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Keys of a request's context.
const (
	keyRequestID = "request_id"
	keyTrace     = "trace" // W3C traceparent
	keySpan      = "span"  // of a sampled request
	keyEventID   = "event_id"
	keyAction    = "audit_action"  // of the route, for the audit trail
	keyBody      = "audit_body"    // what decode has read, for the audit trail
	keyAudited   = "audit_written" // the entry is written already, or none is needed
	keyDialect   = "dialect"       // of the route; absent for the native API
	keyLongPoll  = "long poll"     // true for a request that waits on purpose
	keyMarked    = "marked"        // true if the body had a byte order mark
)

// identify gives every request an id and a trace context, the caller's if they are
// well-formed, and returns both in the response.
func (a *API) identify(c *gin.Context) {
	id := c.GetHeader("X-Request-Id")
	if id != "" {
		if _, err := scoreboard.ParseUserID(id); err != nil { // the same alphabet and length
			id = ""
		}
	}
	if id == "" {
		id = randomHex(16)
	}
	c.Set(keyRequestID, id)
	c.Writer.Header().Set("X-Request-Id", id)
	setSecurityHeaders(c)
	a.beginTrace(c)
	c.Next()
	endTrace(c)
}

// randomHex makes ids that need not be secret.
func randomHex(bytes int) string {
	b := make([]byte, bytes)
	for i := 0; i < bytes; i += 8 {
		v := rand.Uint64()
		for j := i; j < min(i+8, bytes); j++ {
			b[j] = byte(v)
			v >>= 8
		}
	}
	return hex.EncodeToString(b)
}

// The security headers of every response: the API serves no pages, is not cached
// and must not be framed. Handlers of pages set their own.
var (
	headerNoSniff  = []string{"nosniff"}
	headerNoStore  = []string{"no-store"}
	headerPolicy   = []string{"default-src 'none'; frame-ancestors 'none'"}
	headerReferrer = []string{"no-referrer"}
	headerTLS      = []string{"max-age=31536000"}
)

func setSecurityHeaders(c *gin.Context) {
	h := c.Writer.Header()
	h["X-Content-Type-Options"] = headerNoSniff
	h["Cache-Control"] = headerNoStore
	h["Content-Security-Policy"] = headerPolicy
	h["Referrer-Policy"] = headerReferrer
	if c.Request.TLS != nil {
		h["Strict-Transport-Security"] = headerTLS
	}
}

// recoverPanic turns a panic into an internal error, so that a bug in one request
// does not end the others.
func (a *API) recoverPanic(c *gin.Context) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		requestLog(a.log, c).Error("handler panicked", "path", c.FullPath(), "err", fmt.Sprint(p),
			"stack", string(debug.Stack()))
		if !c.Writer.Written() {
			a.failures.fail(c, scoreboard.Errorf(wire.CodeInternal, internalMessage))
		}
	}()
	c.Next()
}

// What pages of allowed origins may send and read, beyond what any page may.
const (
	corsMethods = "GET, POST, PUT, PATCH, DELETE"
	corsHeaders = "Authorization, Baggage, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, Prefer, " +
		"Sentry-Trace, Traceparent, Tracestate, X-Idempotency-Key, X-Request-Id, X-Scoreboard-Key, " +
		"X-Scoreboard-Timestamp, X-Scoreboard-Signature"
	corsExposed = "ETag, Location, Retry-After, Traceparent, Warning, X-Request-Id, X-Scoreboard-Degraded"
	corsMaxAge  = "600" // seconds that a browser may cache a preflight
)

// origins decides which pages may call the API from a browser.
type origins struct {
	allowed []string
	pages   Listing // nil: boards have no pages
	errors  errorLog
	log     *slog.Logger
	now     clock
}

// cors lets pages of exactly the allowed origins call the API from a browser.
// There are no cookies, so a page needs a token of its visitor.
func (o *origins) cors(c *gin.Context) {
	h := c.Writer.Header()
	h.Add("Vary", "Origin")
	origin := c.GetHeader("Origin")
	preflight := c.Request.Method == http.MethodOptions && c.GetHeader("Access-Control-Request-Method") != ""
	if origin == "" || !o.allowedOrigin(c) {
		if preflight && origin != "" {
			o.logForeignOrigin(c, origin)
		}
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsExposed)
	if !preflight {
		return
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	c.AbortWithStatus(http.StatusNoContent)
}

// logForeignOrigin names an origin whose pages the browser stops: otherwise only the page
// that cannot call learns of it.
func (o *origins) logForeignOrigin(c *gin.Context, origin string) {
	suppressed, ok := o.errors.allow(errorKind{"preflight", wire.CodeForbidden}, o.now())
	if ok {
		requestLog(o.log, c).Warn("preflight from an origin that is not in realtime.origins",
			"origin", truncate(origin, 100), "suppressed", suppressed)
	}
}

// allowedOrigin reports whether the calling page, if there is one, is of an
// allowed origin. Browsers always send Origin; without the check any page could
// use its visitor's network.
func (o *origins) allowedOrigin(c *gin.Context) bool {
	origin := c.GetHeader("Origin")
	return origin == "" || slices.Contains(o.allowed, origin) || o.mayEmbed(c, origin)
}

// anonymous are the claims of a client without a token, where that is allowed.
var anonymous = &auth.Claims{}

// callers authenticates requests.
type callers struct {
	tokens  *auth.Tokens
	peers   peers
	policy  *atomic.Pointer[Policy]
	origins *origins
}

// authenticate returns the claims of a route's caller.
func (h *callers) authenticate(c *gin.Context, r route) (*auth.Claims, error) {
	// A proxy may have checked another one than we would.
	if len(c.Request.Header.Values("Authorization")) > 1 {
		return nil, scoreboard.Invalid("", "duplicate header Authorization")
	}
	switch {
	case r.scope == noToken:
		return anonymous, nil
	case r.scope == listedBoard:
		return h.visitor(c, r)
	case r.stream != nil:
		return h.join(c, r)
	}
	return h.verifyToken(c, r)
}

// verifyToken returns the claims of the bearer token or the client certificate, or
// anonymous where the route may do without.
func (h *callers) verifyToken(c *gin.Context, r route) (*auth.Claims, error) {
	if c.GetHeader("Authorization") == "" {
		if server := h.peers.peerServer(c.Request); server != nil {
			return server, nil
		}
	}
	if c.GetHeader("Authorization") == "" && r.scope == optionalToken &&
		(r.public || h.policy.Load().AnonymousReads) {
		return anonymous, nil
	}
	if r.vouched && c.GetHeader("Authorization") == "" {
		return anonymous, nil
	}
	token := bearerToken(c)
	if token == "" {
		return nil, auth.ErrNoToken()
	}
	return h.tokens.Verify(c.Request.Context(), token)
}

// bearerToken returns the token of a request, "" for none.
func bearerToken(c *gin.Context) string {
	scheme, token, _ := strings.Cut(c.GetHeader("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// peers are the names in client certificates that act as servers.
type peers []string

// peerServer returns the claims of a verified client certificate whose name is in
// Peers, else nil. Such a server may act for any user, and its increments count as
// attested.
func (p peers) peerServer(r *http.Request) *auth.Claims {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(p) == 0 {
		return nil
	}
	leaf := r.TLS.VerifiedChains[0][0]
	name := leaf.Subject.CommonName
	if len(leaf.DNSNames) > 0 {
		name = leaf.DNSNames[0]
	}
	if !slices.Contains(p, name) {
		return nil
	}
	user, err := scoreboard.ExternalUserID(name) // another one, if the name is not a user's id or reserved
	if err != nil {
		return nil
	}
	return &auth.Claims{User: user, Scopes: []string{auth.ScopeUpdate}, Expires: leaf.NotAfter, Certificate: true}
}

// actsForAll reports whether a caller may act for all users.
func actsForAll(caller *auth.Claims) bool {
	return caller.Has(auth.ScopeOperate) || caller.Has(auth.ScopeUpdate)
}

// boardAccess decides which boards a caller may see.
type boardAccess struct {
	catalog Catalog
}

// board returns a board that the caller may see: of private ones, servers and operators
// see all and others none.
func (a boardAccess) board(ctx context.Context, id scoreboard.BoardID, caller *auth.Claims) (*scoreboard.Board, error) {
	if actsForAll(caller) {
		return a.catalog.Board(ctx, id)
	}
	b, err := a.catalog.PublicBoard(ctx, id)
	if err != nil {
		return nil, err
	}
	return b, nil
}
