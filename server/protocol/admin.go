package protocol

import "time"

// TokenRequest is the body of POST /v1/admin/tokens, which exists only with a
// development issuer.
type TokenRequest struct {
	UserID string `json:"user_id"`
	Scope  string `json:"scope,omitempty"` // space-separated
	TTL    string `json:"ttl,omitempty"`   // a Go duration; default 15m
}

// Token is a bearer token.
type Token struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// KeyRequest is the body of POST /v1/admin/keys. An absent bound does not apply.
type KeyRequest struct {
	Name       string   `json:"name"`
	TTL        string   `json:"ttl,omitempty"`         // a Go duration, until the key expires
	Boards     []string `json:"boards,omitempty"`      // that the key may sign for
	UserPrefix string   `json:"user_prefix,omitempty"` // of the users that the key may sign for
	MaxDelta   int64    `json:"max_delta,omitempty"`   // of one event, absolute
	PerMinute  int      `json:"per_minute,omitempty"`  // events a minute
}

// RotateRequest is the body of POST /v1/admin/keys/{key_id}/rotate.
type RotateRequest struct {
	Overlap string `json:"overlap,omitempty"` // how long the former secret stays valid: a Go duration, default 24h
}

// Key describes a signing key. Secret is set only when it is created or rotated.
type Key struct {
	KeyID      string     `json:"key_id"`
	Name       string     `json:"name"`
	Secret     string     `json:"secret,omitempty"`
	CreatedAt  time.Time  `json:"created_at"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty"`
	RevokedAt  *time.Time `json:"revoked_at,omitempty"`
	Boards     []string   `json:"boards,omitempty"`
	UserPrefix string     `json:"user_prefix,omitempty"`
	MaxDelta   int64      `json:"max_delta,omitempty"`
	PerMinute  int        `json:"per_minute,omitempty"`
	// Generation counts the key's secrets. The previous secret is valid until
	// RetiresAt, if that is set.
	Generation int        `json:"generation"`
	RetiresAt  *time.Time `json:"retires_at,omitempty"`
}

// Keys answers GET /v1/admin/keys: every key, without its secret.
type Keys struct {
	Keys []Key `json:"keys"`
}
