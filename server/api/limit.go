package api

import (
	"context"
	"errors"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Limit is a rate for each key.
type Limit interface {
	// Take takes one for key and returns 0, or how long to wait for one.
	Take(ctx context.Context, key string) time.Duration
	// Wait is for how long key is known to be refused. It takes nothing.
	Wait(key string) time.Duration
}

// Rate limits a route by who asks; what is nil is off.
type Rate struct {
	Users   Limit // by the user of the token
	Servers Limit // the same for tokens that may act for any user
}

// Limits are the rates of the API; what is nil is off.
type Limits struct {
	Updates, Actions, Top, Rank, Tickets Rate

	// Key is the limit of a key that may sign so many events a minute.
	Key       func(perMinute int) Limit
	Address   Limit // every request, by address
	Anonymous Limit // who comes without a token, by address
	// AuthFailures, by address, is how often one may come with credentials that
	// are wrong. Past it they are answered with rate_limited, and nothing is
	// looked up for them. Who has the right ones is served all the same: behind
	// one address there may be many.
	AuthFailures Limit
}

// unlimited is the rate of a route that has none of its own.
var unlimited Rate

// take lets a caller in, or says rate_limited.
func (r Rate) take(ctx context.Context, who *auth.Claims) error {
	if who.Has(auth.ScopeUpdate) {
		return take(ctx, r.Servers, string(who.User))
	}
	return take(ctx, r.Users, string(who.User))
}

func take(ctx context.Context, l Limit, key string) error {
	if l == nil {
		return nil
	}
	return rateLimited(l.Take(ctx, key))
}

// rateLimited refuses for a wait, and is nil where there is none.
func rateLimited(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	return &scoreboard.Error{Code: scoreboard.CodeRateLimited, Message: "too many requests", RetryAfter: wait}
}

// countFailure counts wrong credentials of an address, and past the bound puts
// rate_limited in the place of the answer. A token of ours that has expired is
// no attempt at anything: its user must hear that.
func (a *API) countFailure(c *gin.Context, err error) error {
	code := scoreboard.CodeOf(err)
	if code != scoreboard.CodeUnauthorized && code != scoreboard.CodeInvalidSignature || errors.Is(err, auth.ErrExpired) {
		return err
	}
	if limited := take(c.Request.Context(), a.Limits.AuthFailures, address(c.Request)); limited != nil {
		return limited
	}
	return err
}

// checkKey verifies a signature. For an address with too many failures a key
// that is not known here is not looked up: made-up ones would reach the store.
func (a *API) checkKey(c *gin.Context, key string, text []byte, signature string, at time.Time) (signed, error) {
	if l := a.Limits.AuthFailures; l != nil && !a.Keyring.Knows(key) {
		if err := rateLimited(l.Wait(address(c.Request))); err != nil {
			return signed{}, err
		}
	}
	scope, err := a.Keyring.Check(c.Request.Context(), key, text, signature, at)
	return signed{key, scope}, err
}
