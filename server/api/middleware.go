package api

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Keys of what identify puts into a request's context.
const (
	keyRequestID = "request_id"
	keyTrace     = "trace"
	keyEventID   = "event_id"
)

// identify gives every request an id and a place in a trace, the caller's
// where they are well-formed, and sends both back.
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
	trace := childTrace(c.GetHeader("traceparent"))
	c.Set(keyRequestID, id)
	c.Set(keyTrace, trace)
	h := c.Writer.Header()
	h.Set("X-Request-Id", id)
	h.Set("Traceparent", trace)
	protect(c)
	c.Next()
}

// randomHex names things that need not be secret.
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

// childTrace continues a W3C traceparent (version 00), or begins one.
func childTrace(parent string) string {
	if len(parent) == 55 && strings.HasPrefix(parent, "00-") && parent[35] == '-' && parent[52] == '-' {
		id, err1 := hex.DecodeString(parent[3:35])
		_, err2 := hex.DecodeString(parent[36:52] + parent[53:55])
		if err1 == nil && err2 == nil && strings.Trim(hex.EncodeToString(id), "0") != "" {
			return parent[:36] + randomHex(8) + parent[52:]
		}
	}
	return "00-" + randomHex(16) + "-" + randomHex(8) + "-00"
}

// recoverPanic turns a panic into an internal error: one request's bug is not
// everybody's.
func (a *API) recoverPanic(c *gin.Context) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		a.Log.Error("handler panicked", "path", c.FullPath(), "err", fmt.Sprint(p), "stack", string(debug.Stack()))
		if !c.Writer.Written() {
			a.fail(c, scoreboard.Errorf(scoreboard.CodeInternal, "something went wrong here"))
		}
	}()
	c.Next()
}

// authenticate returns who asks.
func (a *API) authenticate(c *gin.Context) (*auth.Claims, error) {
	if c.GetHeader("Authorization") == "" {
		if server := a.peer(c.Request); server != nil {
			return server, nil
		}
	}
	if a.now().AnonymousReads && c.GetHeader("Authorization") == "" && openTo[c.FullPath()] {
		return nobody, nil
	}
	scheme, token, ok := strings.Cut(c.GetHeader("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return nil, scoreboard.Errorf(scoreboard.CodeUnauthorized, "a bearer token is required")
	}
	return a.Tokens.Verify(c.Request.Context(), strings.TrimSpace(token))
}

// address is the peer's, without a port.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
