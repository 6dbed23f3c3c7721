package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// What pages of our own origins may send and read beside what every page may.
const (
	corsMethods = "GET, POST, PUT, PATCH, DELETE"
	corsHeaders = "Authorization, Content-Type, If-None-Match, Last-Event-ID, Prefer, Traceparent, " +
		"X-Request-Id, X-Scoreboard-Key, X-Scoreboard-Timestamp, X-Scoreboard-Signature"
	corsExposed = "ETag, Location, Retry-After, Traceparent, X-Request-Id"
	corsMaxAge  = "600" // seconds that a browser remembers a preflight
)

// cors lets pages of the allowed origins, exactly those, use the API from a
// browser. Nothing is ambient here: there are no cookies, so a page must have a
// token of its visitor's.
func (a *API) cors(c *gin.Context) {
	h := c.Writer.Header()
	h.Add("Vary", "Origin")
	origin := c.GetHeader("Origin")
	if origin == "" || !a.ownOrigin(c) {
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsExposed)
	if c.Request.Method != http.MethodOptions || c.GetHeader("Access-Control-Request-Method") == "" {
		return
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	c.AbortWithStatus(http.StatusNoContent)
}
