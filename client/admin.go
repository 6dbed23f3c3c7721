package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// TokenRequest asks for a token of UserID with the scopes of Scope (divided by
// spaces) that lives for TTL (15m when empty).
type TokenRequest = protocol.TokenRequest

// Token is a bearer token and when it ends.
type Token = protocol.Token

// KeyRequest says what a new key is for and what it may sign; what is left out
// bounds nothing.
type KeyRequest = protocol.KeyRequest

// Key is a signing key. Its Secret is shown once, when it is made.
type Key = protocol.Key

// MintToken makes a token for a user, on servers with a development issuer.
// It needs the scope score:admin.
func (c *Client) MintToken(ctx context.Context, r TokenRequest) (Token, error) {
	var token Token
	err := c.do(ctx, call{
		op: "mint a token", method: http.MethodPost, path: "/v1/admin/tokens", sign: true,
		body: func(time.Time) any { return r },
	}, &token)
	return token, err
}

// CreateKey makes a signing key. It is tried once: a second try could make a
// second key.
func (c *Client) CreateKey(ctx context.Context, r KeyRequest) (Key, error) {
	var key Key
	err := c.do(ctx, call{
		op: "create a key", method: http.MethodPost, path: "/v1/admin/keys", sign: true, once: true,
		body: func(time.Time) any { return r },
	}, &key)
	return key, err
}

// RotateKey gives a signing key another secret. The former one stays good for
// the overlap, one before that ends now. It is tried once: a second try could
// end the secret that is in use.
func (c *Client) RotateKey(ctx context.Context, id string, overlap time.Duration) (Key, error) {
	var key Key
	err := c.do(ctx, call{
		op: "rotate key " + id, method: http.MethodPost, path: "/v1/admin/keys/" + url.PathEscape(id) + "/rotate", sign: true, once: true,
		body: func(time.Time) any { return protocol.RotateRequest{Overlap: overlap.String()} },
	}, &key)
	return key, err
}

// Keys lists the signing keys, without their secrets.
func (c *Client) Keys(ctx context.Context) ([]Key, error) {
	var keys protocol.Keys
	err := c.do(ctx, call{op: "list the keys", method: http.MethodGet, path: "/v1/admin/keys"}, &keys)
	return keys.Keys, err
}

// RevokeKey ends a signing key. What it signed before stays counted.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	return c.do(ctx, call{
		op: "revoke key " + id, method: http.MethodDelete, path: "/v1/admin/keys/" + url.PathEscape(id), sign: true,
	}, nil)
}
