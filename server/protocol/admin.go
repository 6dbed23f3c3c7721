package protocol

import "time"

// TokenRequest is the body of POST /v1/admin/tokens, which exists only with a
// development issuer.
type TokenRequest struct {
	UserID string `json:"user_id"`
	Scope  string `json:"scope,omitempty"` // scopes, separated by spaces
	TTL    string `json:"ttl,omitempty"`   // lifetime, such as 1h; 15m by default
}

// Token is a bearer token.
type Token struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// KeyRequest is the body of POST /v1/admin/keys. An absent field sets no limit.
type KeyRequest struct {
	Name       string   `json:"name"`
	TTL        string   `json:"ttl,omitempty"`         // lifetime of the key, such as 2160h
	Boards     []string `json:"boards,omitempty"`      // boards that the key may sign for
	UserPrefix string   `json:"user_prefix,omitempty"` // prefix of the user ids that the key may sign for
	MaxDelta   int64    `json:"max_delta,omitempty"`   // maximum absolute delta of an event
	PerMinute  int      `json:"per_minute,omitempty"`  // maximum number of events per minute
}

// RotateRequest is the body of POST /v1/admin/keys/{key_id}/rotate.
type RotateRequest struct {
	Overlap string `json:"overlap,omitempty"` // how long the old secret stays valid, such as 1h; 24h by default
}

// Key describes a signing key. Secret is set only when the key is created or rotated.
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
	// Generation is the number of secrets that the key has had. The previous one is valid
	// until RetiresAt, if that is set.
	Generation int        `json:"generation"`
	RetiresAt  *time.Time `json:"retires_at,omitempty"`
}

// Keys answers GET /v1/admin/keys: every key, without its secret.
type Keys struct {
	Keys []Key `json:"keys"`
}
