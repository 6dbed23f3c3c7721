package protocol

import "time"

// TokenRequest is the body of POST /v1/admin/tokens, which only a server with
// a development issuer has.
type TokenRequest struct {
	UserID string `json:"user_id"`
	Scope  string `json:"scope,omitempty"` // space-separated
	TTL    string `json:"ttl,omitempty"`   // a Go duration; 15m when absent
}

// Token is a bearer token.
type Token struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// KeyRequest is the body of POST /v1/admin/keys.
type KeyRequest struct {
	Name string `json:"name"`
}

// Key describes a signing key. Secret is shown once, when it is made.
type Key struct {
	KeyID     string     `json:"key_id"`
	Name      string     `json:"name"`
	Secret    string     `json:"secret,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
}

// Keys answers GET /v1/admin/keys: every key, without its secret.
type Keys struct {
	Keys []Key `json:"keys"`
}
