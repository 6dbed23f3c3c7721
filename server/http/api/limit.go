package api

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Limit is a rate limit with a bucket for each key.
type Limit interface {
	// Take takes a token of key and returns 0, or how long to wait for one.
	Take(ctx context.Context, key string) time.Duration
}

// KeyLimit is the rate limit of signing keys, in events.
type KeyLimit interface {
	Limit
	// Return gives back a token that was taken for an event that does not count.
	Return(key string)
}

// Rate limits a route by caller; a nil Limit is off.
type Rate struct {
	Users   Limit // by the user of the token
	Servers Limit // the same for tokens that may act for any user
}

// Limits are the rate limits of the API; a nil Limit is off.
type Limits struct {
	Updates, Actions, Events, Top, Rank, Tickets, Joins, Admin Rate

	// Key is the limit of a signing key with perMinute events a minute.
	Key       func(perMinute int) KeyLimit
	Address   Limit // every request, by address
	Anonymous Limit // clients without a token, by address
	// AuthFailures bounds wrong credentials by address. Beyond it they are answered
	// with rate_limited. It is asked only after a failure: correct credentials from the
	// same address always work, because many clients may share it.
	AuthFailures Limit
}

// byAddress is the rate of routes without a token: as that of all clients without
// one, it is Limits.Anonymous.
var byAddress = &Rate{}

// take takes a token for the caller, or returns rate_limited.
func (r Rate) take(ctx context.Context, caller *auth.Claims) error {
	if caller.Has(auth.ScopeUpdate) {
		return take(ctx, r.Servers, string(caller.User))
	}
	return take(ctx, r.Users, string(caller.User))
}

func take(ctx context.Context, l Limit, key string) error {
	if l == nil {
		return nil
	}
	return rateLimited(l.Take(ctx, key))
}

// rateLimited is the error for a wait; nil for none.
func rateLimited(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	return &scoreboard.Error{Code: wire.CodeRateLimited, Message: "too many requests", RetryAfter: wait}
}

// checkRate applies a route's limit, or that of anonymous clients.
func (a *API) checkRate(c *gin.Context, r route, caller *auth.Claims) error {
	if caller == anonymous && r.vouched {
		return nil // admitVouched counts it
	}
	if caller == anonymous {
		return take(c.Request.Context(), a.limits.Anonymous, address(c.Request))
	}
	return r.rate.take(c.Request.Context(), caller)
}

// cachedAnswer answers from the cache, and reports whether there was anything.
type cachedAnswer func(*gin.Context, *auth.Claims) (bool, error)

// serveStale answers a client over the limit from the cache, with Retry-After, or
// returns the rejection if nothing recent is cached.
func serveStale(cached cachedAnswer) func(*gin.Context, *auth.Claims, error) error {
	return func(c *gin.Context, caller *auth.Claims, rejection error) error {
		setRetryAfter(c, rejection)
		// What is not found is rejected like what is not cached: the difference would tell
		// which private boards exist.
		if ok, err := cached(c, caller); ok || err != nil && wire.CodeOf(err) != wire.CodeNotFound {
			return err
		}
		return rejection
	}
}

// Reasons of failed authentications, in metrics.
const (
	failedToken     = "token"
	failedExpired   = "expired"
	failedSignature = "signature"
)

// countAuthFailure counts wrong credentials by address, and beyond the limit
// replaces the error by rate_limited. An expired token is not an attack and its
// user must see why it is rejected, so it does not count.
func (a *API) countAuthFailure(c *gin.Context, err error) error {
	var rejected *auth.Rejection
	if errors.As(err, &rejected) {
		a.metrics.rejected.WithLabelValues(rejected.Reason).Inc()
		if a.log.Enabled(c.Request.Context(), slog.LevelDebug) {
			requestLog(a.log, c).Debug("token rejected", "reason", rejected.Reason, "err", rejected.Text,
				"address", address(c.Request))
		}
	}
	switch code := wire.CodeOf(err); {
	case rejected != nil && rejected.Reason == auth.ReasonExpired:
		a.metrics.failures.WithLabelValues(failedExpired).Inc()
		return err
	case code == wire.CodeUnauthorized:
		a.metrics.failures.WithLabelValues(failedToken).Inc()
	case code == wire.CodeInvalidSignature:
		a.metrics.failures.WithLabelValues(failedSignature).Inc()
	default:
		return err
	}
	if limited := take(c.Request.Context(), a.limits.AuthFailures, address(c.Request)); limited != nil {
		return limited
	}
	return err
}
