package loadgen

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// mintFunc mints a token with the authority of another one.
type mintFunc func(ctx context.Context, token string, r client.TokenRequest) (client.Token, error)

// renewingToken is the token that a run was given. If the server mints tokens, it
// is renewed, so that a run may be longer than the token's lifetime.
type renewingToken struct {
	mint mintFunc

	mu      sync.Mutex
	token   string
	request client.TokenRequest // for a token with the same claims
	renewAt time.Time           // zero if the token does not expire or cannot be renewed
	expires time.Time
}

const (
	// renewedLifetime is the requested lifetime of a renewed token.
	renewedLifetime = time.Hour
	// renewRetry is the delay after a failed renewal.
	renewRetry = time.Second
)

func newRenewingToken(token string, mint mintFunc) *renewingToken {
	t := &renewingToken{mint: mint, token: token}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return t // not a JWT
	}
	var claims struct {
		User    string `json:"sub"`
		Scope   string `json:"scope"`
		Expires int64  `json:"exp"`
	}
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(b, &claims) != nil || claims.Expires == 0 {
		return t
	}
	t.request = client.TokenRequest{UserID: claims.User, Scope: claims.Scope, TTL: renewedLifetime.String()}
	t.setExpiry(time.Unix(claims.Expires, 0))
	return t
}

// setExpiry schedules the renewal half a minute before the token expires, or
// after half of a short lifetime.
func (t *renewingToken) setExpiry(expires time.Time) {
	t.expires = expires
	t.renewAt = expires.Add(-min(30*time.Second, time.Until(expires)/2))
}

// Token implements client.TokenSource. A token that cannot be renewed is used
// until the server rejects it.
func (t *renewingToken) Token(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.renewAt.IsZero() || time.Now().Before(t.renewAt) {
		return t.token, nil
	}
	renewed, err := t.mint(ctx, t.token, t.request)
	var e *client.Error
	switch {
	case err == nil:
	case errors.As(err, &e) && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests:
		t.renewAt = time.Time{} // the server does not mint tokens
		return t.token, nil
	default:
		t.renewAt = time.Now().Add(renewRetry)
		return t.token, ctx.Err()
	}
	t.token = renewed.Token
	t.setExpiry(renewed.ExpiresAt)
	return t.token, nil
}
