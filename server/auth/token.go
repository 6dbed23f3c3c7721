package auth

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Scopes of a token, beside being the user of sub.
const (
	ScopeUpdate = "score:update" // may write for any user
	ScopeAdmin  = "score:admin"  // may operate
)

// Limits of a token. The leeway is specification C's.
const (
	maxTokenLength = 4096
	leeway         = 30 * time.Second
	maxCached      = 10_000
)

// ErrExpired is in the error for a token that was good until it expired.
var ErrExpired = errors.New("the token has expired")

// Claims are what a token says.
type Claims struct {
	User    scoreboard.UserID
	Scopes  []string
	Expires time.Time
}

// Has reports whether the token carries a scope.
func (c *Claims) Has(scope string) bool {
	for _, s := range c.Scopes {
		if s == scope {
			return true
		}
	}
	return false
}

// Tokens verifies bearer tokens and remembers the good ones until they expire.
type Tokens struct {
	secret           []byte
	issuer, audience string
	parser           *jwt.Parser
	now              func() time.Time

	mu    sync.RWMutex
	known map[[sha256.Size]byte]*Claims
}

// NewTokens verifies HS256 tokens of one issuer for one audience.
func NewTokens(secret, issuer, audience string, now func() time.Time) *Tokens {
	return &Tokens{
		secret: []byte(secret), issuer: issuer, audience: audience, now: now,
		parser: jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuer(issuer), jwt.WithAudience(audience),
			jwt.WithExpirationRequired(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(now), jwt.WithStrictDecoding()),
		known: make(map[[sha256.Size]byte]*Claims),
	}
}

type jwtClaims struct {
	jwt.RegisteredClaims
	Scope string `json:"scope,omitempty"`
}

// Verify returns what a token says, or unauthorized.
func (t *Tokens) Verify(token string) (*Claims, error) {
	if len(token) > maxTokenLength {
		return nil, unauthorized("the token is too long")
	}
	key := sha256.Sum256([]byte(token))
	t.mu.RLock()
	c := t.known[key]
	t.mu.RUnlock()
	if c != nil && t.now().Before(c.Expires.Add(leeway)) {
		return c, nil
	}
	c, err := t.parse(token)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= maxCached {
		clear(t.known) // rare, and cheaper to think about than an eviction order
	}
	t.known[key] = c
	return c, nil
}

func (t *Tokens) parse(token string) (*Claims, error) {
	if len(t.secret) == 0 {
		return nil, unauthorized("this server accepts no tokens: auth.jwt_secret is not set")
	}
	var claims jwtClaims
	_, err := t.parser.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return t.secret, nil })
	if errors.Is(err, jwt.ErrTokenExpired) {
		err = ErrExpired // the parser looks at the signature first
	}
	if err != nil {
		return nil, &scoreboard.Error{Code: scoreboard.CodeUnauthorized, Message: "the token is not valid", Err: err}
	}
	user, err := scoreboard.ParseUserID(claims.Subject)
	if err != nil {
		return nil, unauthorized("the token's sub is no user id")
	}
	return &Claims{User: user, Scopes: strings.Fields(claims.Scope), Expires: claims.ExpiresAt.Time}, nil
}

func unauthorized(message string) error {
	return &scoreboard.Error{Code: scoreboard.CodeUnauthorized, Message: message}
}

// Mint makes a token: the development issuer.
func (t *Tokens) Mint(user scoreboard.UserID, scope string, life time.Duration) (string, time.Time, error) {
	now := t.now()
	expires := now.Add(life).Truncate(time.Second)
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwtClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: string(user), Issuer: t.issuer, Audience: jwt.ClaimStrings{t.audience},
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expires),
		}, Scope: scope,
	}).SignedString(t.secret)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("mint a token: %w", err)
	}
	return token, expires, nil
}
