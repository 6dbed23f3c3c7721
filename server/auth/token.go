package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Scopes of a token, beside being the user of sub.
const (
	ScopeUpdate = "score:update" // may write for any user
	ScopeAdmin  = "score:admin"  // may operate
	ScopeJoin   = "ws_conn"      // may join a stream and, without the others, nothing else
)

// Limits of a token. The leeway is specification C's.
const (
	maxTokenLength = 4096
	leeway         = 30 * time.Second
	maxCached      = 10_000
)

// lineBreaks are passed over by encoding/base64, also where it is strict: then
// one token has many texts.
const lineBreaks = "\r\n"

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

// JoinsOnly reports whether the token is for joining a stream and nothing else.
func (c *Claims) JoinsOnly() bool {
	return c.Has(ScopeJoin) && !c.Has(ScopeUpdate) && !c.Has(ScopeAdmin)
}

// Policy is what a token must say to be good.
type Policy struct {
	Issuer   string
	Audience string
	MaxLife  time.Duration // the longest exp − iat; 0 is any
}

// Tokens verifies bearer tokens and remembers the good ones until they expire.
type Tokens struct {
	secret []byte  // of a development issuer
	keys   *KeySet // of an identity provider; nil for a development issuer
	now    func() time.Time
	policy atomic.Pointer[checks]

	mu    sync.RWMutex
	known map[[sha256.Size]byte]verified
}

// checks are a policy at work.
type checks struct {
	Policy
	parser *jwt.Parser
}

// verified is a token that was good under the keys and the policy of then.
type verified struct {
	claims *Claims
	keys   uint64
	policy *checks
}

// NewTokens verifies HS256 tokens of a development issuer for one audience.
func NewTokens(secret, issuer, audience string, now func() time.Time) *Tokens {
	t := &Tokens{secret: []byte(secret), now: now, known: make(map[[sha256.Size]byte]verified)}
	t.Configure(Policy{Issuer: issuer, Audience: audience})
	return t
}

// NewProviderTokens verifies RS256, ES256 and EdDSA tokens of a provider, and no
// others: a shared secret beside public keys is how tokens are forged.
func NewProviderTokens(keys *KeySet, p Policy, now func() time.Time) *Tokens {
	t := &Tokens{keys: keys, now: now, known: make(map[[sha256.Size]byte]verified)}
	t.Configure(p)
	return t
}

// Configure puts another policy in force, for tokens that are remembered, too.
func (t *Tokens) Configure(p Policy) {
	methods := []string{jwt.SigningMethodHS256.Alg()}
	if t.keys != nil {
		methods = []string{jwt.SigningMethodRS256.Alg(), jwt.SigningMethodES256.Alg(), jwt.SigningMethodEdDSA.Alg()}
	}
	t.policy.Store(&checks{p, jwt.NewParser(jwt.WithValidMethods(methods), jwt.WithIssuer(p.Issuer), jwt.WithAudience(p.Audience),
		jwt.WithExpirationRequired(), jwt.WithNotBeforeRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(t.now),
		jwt.WithStrictDecoding())})
}

type jwtClaims struct {
	jwt.RegisteredClaims
	Scope string `json:"scope,omitempty"`
}

// Verify returns what a token says, or unauthorized; unavailable while the keys
// of the provider have never been read.
func (t *Tokens) Verify(ctx context.Context, token string) (*Claims, error) {
	if len(token) > maxTokenLength {
		return nil, unauthorized("the token is too long")
	}
	if strings.ContainsAny(token, lineBreaks) {
		return nil, unauthorized("the token is not valid")
	}
	policy, keys := t.policy.Load(), t.generation()
	sum := sha256.Sum256([]byte(token))
	t.mu.RLock()
	v, ok := t.known[sum]
	t.mu.RUnlock()
	if ok && v.keys == keys && v.policy == policy && t.now().Before(v.claims.Expires.Add(leeway)) {
		return v.claims, nil
	}
	c, err := t.parse(ctx, policy, token)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= maxCached {
		clear(t.known) // rare, and cheaper to think about than an eviction order
	}
	// With the generation of before: a key that went meanwhile takes it along.
	t.known[sum] = verified{c, keys, policy}
	return c, nil
}

// generation changes with the provider's keys, so that a key that was taken
// away takes the tokens along that it had verified.
func (t *Tokens) generation() uint64 {
	if t.keys == nil {
		return 0
	}
	return t.keys.change.Load()
}

func (t *Tokens) parse(ctx context.Context, policy *checks, token string) (*Claims, error) {
	if t.keys == nil && len(t.secret) == 0 {
		return nil, unauthorized("this server accepts no tokens: neither auth.jwks_url nor auth.jwt_secret is set")
	}
	var claims jwtClaims
	_, err := policy.parser.ParseWithClaims(token, &claims, func(token *jwt.Token) (any, error) {
		if err := checkHeader(token.Header); err != nil {
			return nil, err
		}
		if t.keys != nil {
			return t.keys.key(ctx, token)
		}
		return t.secret, nil
	})
	if scoreboard.CodeOf(err) == scoreboard.CodeUnavailable {
		return nil, err
	}
	if errors.Is(err, jwt.ErrTokenExpired) {
		err = ErrExpired // the parser looks at the signature first
	}
	if err != nil {
		return nil, &scoreboard.Error{Code: scoreboard.CodeUnauthorized, Message: "the token is not valid", Err: err}
	}
	if policy.MaxLife > 0 && (claims.IssuedAt == nil || claims.ExpiresAt.Sub(claims.IssuedAt.Time) > policy.MaxLife) {
		return nil, unauthorized(fmt.Sprintf("the token lives for longer than %s", policy.MaxLife))
	}
	user, err := scoreboard.ParseUserID(claims.Subject)
	if err != nil {
		return nil, unauthorized("the token's sub is no user id")
	}
	return &Claims{User: user, Scopes: strings.Fields(claims.Scope), Expires: claims.ExpiresAt.Time}, nil
}

// checkHeader refuses what the parser would let pass: extensions that must be
// understood (RFC 7515, 4.1.11), and objects that are signed for something else.
func checkHeader(header map[string]any) error {
	if _, ok := header["crit"]; ok {
		return errors.New("the token has critical extensions")
	}
	typ, given := header["typ"]
	name, _ := typ.(string)
	switch name = strings.TrimPrefix(strings.ToLower(name), "application/"); {
	case !given, name == "jwt", name == "at+jwt":
		return nil
	}
	return errors.New("the object is signed, but no token")
}

func unauthorized(message string) error {
	return &scoreboard.Error{Code: scoreboard.CodeUnauthorized, Message: message}
}

// Mint makes a token: the development issuer.
func (t *Tokens) Mint(user scoreboard.UserID, scope string, life time.Duration) (string, time.Time, error) {
	if len(t.secret) == 0 {
		return "", time.Time{}, errors.New("mint a token: the identity provider does that here")
	}
	now, policy := t.now(), t.policy.Load()
	expires := now.Add(life).Truncate(time.Second)
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwtClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: string(user), Issuer: policy.Issuer, Audience: jwt.ClaimStrings{policy.Audience},
			IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expires),
		}, Scope: scope,
	}).SignedString(t.secret)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("mint a token: %w", err)
	}
	return token, expires, nil
}
