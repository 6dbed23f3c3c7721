package wire

import "time"

// TokenRequest is the body of POST /v1/admin/tokens, which exists only with a
// development issuer.
type TokenRequest struct {
	UserID string `json:"user_id"`         // user of the token: 1 to 64 of the characters A-Z a-z 0-9 . _ : @ and -
	Scope  string `json:"scope,omitempty"` // the token's scopes, separated by spaces
	TTL    string `json:"ttl,omitempty"`   // the token's lifetime, such as 1h; 15m by default
}

// Token is a bearer token.
type Token struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// KeyRequest is the body of POST /v1/admin/keys. An absent field sets no limit.
type KeyRequest struct {
	Name       string   `json:"name"`                  // name for people, 1 to 128 characters
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

// Key is a signing key. Secret is set only when the key is created or rotated.
type Key struct {
	KeyID string `json:"key_id"`
	Name  string `json:"name"` // name for people
	// Secret that signs; use it exactly as shown, and keep it: it is not shown again.
	Secret    string     `json:"secret,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // time at which the key expires; absent: never
	RevokedAt *time.Time `json:"revoked_at,omitempty"` // time at which the key was revoked
	Boards    []string   `json:"boards,omitempty"`     // boards that the key may sign for; absent: all
	// Prefix of the user ids that the key may sign for; absent: all users.
	UserPrefix string `json:"user_prefix,omitempty"`
	// Maximum absolute delta of an event, in points; absent: the limits of the board.
	MaxDelta int64 `json:"max_delta,omitempty"`
	// Maximum number of events per minute; absent: no limit of its own.
	PerMinute int `json:"per_minute,omitempty"`
	// Generation is the number of secrets that the key has had. The previous one is valid
	// until RetiresAt, if that is set.
	Generation int        `json:"generation"`
	RetiresAt  *time.Time `json:"retires_at,omitempty"` // time until which the previous secret is valid, too
}

// MasterKeyRotation is the response of POST /v1/admin/master-key/rotate.
type MasterKeyRotation struct {
	Encrypted int `json:"encrypted"` // number of secrets that were encrypted with the second master key until now
	Unchanged int `json:"unchanged"` // number of secrets that were encrypted with the first master key already
	// Ids of keys and webhooks with a secret that neither master key of the node has encrypted, at
	// most 100.
	Unreadable []string `json:"unreadable"`
}

// Keys is the response of GET /v1/admin/keys: every key, without its secret.
type Keys struct {
	Keys []Key `json:"keys"` // all keys, also revoked and expired ones
}
