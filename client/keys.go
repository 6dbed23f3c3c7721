package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// TokenRequest requests a token for UserID with the scopes in Scope (separated by
// spaces) and the lifetime TTL (15m when empty).
type TokenRequest = wire.TokenRequest

// Token is a bearer token and its expiry.
type Token = wire.Token

// KeyRequest describes a new key: its name and what it may sign. An empty field sets
// no limit.
type KeyRequest = wire.KeyRequest

// Key is a signing key. Its Secret is returned only by CreateKey and RotateKey.
type Key = wire.Key

// MintToken creates a token for a user, on servers with a development issuer. It
// needs the scope score:admin.
func (c *Client) MintToken(ctx context.Context, r TokenRequest) (Token, error) {
	var token Token
	err := c.do(ctx, call{
		op: "mint a token", method: http.MethodPost, path: "/v1/admin/tokens", query: because(ctx), sign: true,
		body: func(time.Time) any { return r },
	}, &token)
	return token, err
}

// CreateKey creates a signing key. It never retries: a second try could create a
// second key.
func (c *Client) CreateKey(ctx context.Context, r KeyRequest) (Key, error) {
	var key Key
	err := c.do(ctx, call{
		op: "create a key", method: http.MethodPost, path: "/v1/admin/keys", query: because(ctx),
		sign: true, once: true,
		body: func(time.Time) any { return r },
	}, &key)
	return key, err
}

// RotateKey gives a signing key a new secret. The old secret stays valid for the
// overlap; an older one becomes invalid now. It never retries: a second try could
// invalidate the secret in use.
func (c *Client) RotateKey(ctx context.Context, id string, overlap time.Duration) (Key, error) {
	var key Key
	err := c.do(ctx, call{
		op: "rotate key " + id, method: http.MethodPost, path: "/v1/admin/keys/" + url.PathEscape(id) + "/rotate",
		query: because(ctx), sign: true, once: true,
		body: func(time.Time) any { return wire.RotateRequest{Overlap: overlap.String()} },
	}, &key)
	return key, err
}

// MasterKeyRotation is the result of RotateMasterKey.
type MasterKeyRotation = wire.MasterKeyRotation

// RotateMasterKey has the server encrypt all stored secrets with the first of its master keys.
func (c *Client) RotateMasterKey(ctx context.Context) (MasterKeyRotation, error) {
	var r MasterKeyRotation
	err := c.do(ctx, call{
		op: "rotate the master key", method: http.MethodPost, path: "/v1/admin/master-key/rotate",
		query: because(ctx), sign: true,
	}, &r)
	return r, err
}

// Keys lists signing keys, without their secrets.
func (c *Client) Keys(ctx context.Context) ([]Key, error) {
	var keys wire.Keys
	err := c.do(ctx, call{op: "list the keys", method: http.MethodGet, path: "/v1/admin/keys"}, &keys)
	return keys.Keys, err
}

// RevokeKey revokes a signing key. Events that it signed stay counted.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	return c.do(ctx, call{
		op: "revoke key " + id, method: http.MethodDelete, path: "/v1/admin/keys/" + url.PathEscape(id),
		query: because(ctx), sign: true,
	}, nil)
}
