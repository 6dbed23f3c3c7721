package api

import (
	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/http/auth"
)

// What an answer allows caches. Every other answer is no-store: see setSecurityHeaders.
const (
	// sharedCache lets proxies share an answer for a second, and for ten more while they fetch
	// the next one, so that they ask once a second however many clients they have.
	sharedCache = "public, max-age=0, s-maxage=1, stale-while-revalidate=10"
	// ownCache lets a client keep an answer, but makes it revalidate it.
	ownCache = "private, no-cache"
)

// setPageCache lets caches share a board's page, unless a token was sent.
func setPageCache(c *gin.Context) {
	if c.GetHeader("Authorization") != "" {
		c.Writer.Header().Add("Vary", "Authorization")
		c.Header("Cache-Control", "private, no-store")
		return
	}
	setSharedCache(c)
}

// setTopCache lets caches share the first rows of a board if they were read without a token, which
// only a public board allows. The answer to a long poll is for the version that its client has.
func setTopCache(c *gin.Context, caller *auth.Claims) {
	if caller == anonymous && c.Query("wait") == "" {
		setSharedCache(c)
		return
	}
	setNoCache(c)
}

func setSharedCache(c *gin.Context) {
	c.Writer.Header().Add("Vary", "Authorization")
	c.Header("Cache-Control", sharedCache)
}

// setNoCache keeps an answer from shared caches. One to a client over its limit is older than the
// answers to others, and tells when that client may ask again.
func setNoCache(c *gin.Context) {
	c.Writer.Header().Add("Vary", "Authorization")
	c.Header("Cache-Control", ownCache)
}
