package client

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// TokenSource gives the bearer token of each try. It must be safe for
// concurrent use; caching is its business.
type TokenSource interface {
	Token(ctx context.Context) (string, error)
}

// StaticToken is a token that never changes.
type StaticToken string

// Token returns the token.
func (t StaticToken) Token(context.Context) (string, error) { return string(t), nil }

// renewBefore is how long before its expiry a token is fetched anew: longer
// than one try takes, so that no request leaves with a token about to end.
const renewBefore = 30 * time.Second

// Renewing keeps the token that fetch returns until shortly before it expires,
// then fetches another. One fetch runs at a time.
func Renewing(fetch func(context.Context) (token string, expires time.Time, err error)) TokenSource {
	return &renewing{fetch: fetch}
}

type renewing struct {
	fetch   func(context.Context) (string, time.Time, error)
	mu      sync.Mutex
	token   string
	expires time.Time
}

func (r *renewing) Token(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.token != "" && time.Until(r.expires) > renewBefore {
		return r.token, nil
	}
	token, expires, err := r.fetch(ctx)
	if err != nil {
		return "", fmt.Errorf("renew the token: %w", err)
	}
	r.token, r.expires = token, expires
	return token, nil
}
