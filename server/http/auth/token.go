package auth

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Scopes of a token. Without one it acts for the user in sub.
const (
	ScopeUpdate  = "score:update"  // may write for any user
	ScopeOperate = "score:operate" // may read everything, and make changes that can be taken back
	ScopeAdmin   = "score:admin"   // may do everything on the routes of operators; implies ScopeOperate
	ScopeJoin    = "ws_conn"       // may join a stream; without the others, nothing else
)

// Scopes lists the scopes of a token.
func Scopes() []string { return []string{ScopeUpdate, ScopeOperate, ScopeAdmin, ScopeJoin} }

// Limits of a token. The leeway is specification C's.
const (
	maxTokenLength = 4096
	leeway         = 30 * time.Second
	maxCached      = 10_000
)

// lineBreaks are rejected in tokens, because encoding/base64 ignores them even in
// strict mode and one token would have many spellings.
const lineBreaks = "\r\n"

// Claims are the verified claims of a token.
type Claims struct {
	User scoreboard.UserID
	// External is the provider's id of the user, if User is derived from it; else "".
	External string
	Scopes   []string
	Expires  time.Time
	// Key identifies the provider's key that signed the token: its digest, a space, its
	// id. It is "" for a development issuer.
	Key string
	// Certificate says that the claims are of a client certificate, not of a token.
	Certificate bool
}

// Has reports whether the token has a scope, or one that implies it.
func (c *Claims) Has(scope string) bool {
	return slices.Contains(c.Scopes, scope) || scope == ScopeOperate && slices.Contains(c.Scopes, ScopeAdmin)
}

// UserID returns the user that a text in a request names. The token's own user may be
// named by the provider's id, too.
func (c *Claims) UserID(text string) (scoreboard.UserID, error) {
	if c.External != "" && text == c.External {
		return c.User, nil
	}
	return scoreboard.ParseUserID(text)
}

// WrittenUser is UserID for a request that can be the first one about the user: the server's
// own names are no users of clients.
func (c *Claims) WrittenUser(text string) (scoreboard.UserID, error) {
	if user, err := c.UserID(text); err != nil || user == c.User {
		return user, err
	}
	return scoreboard.ParseClientUserID(text)
}

// JoinsOnly reports whether the token only allows joining a stream.
func (c *Claims) JoinsOnly() bool {
	return c.Has(ScopeJoin) && !c.Has(ScopeUpdate) && !c.Has(ScopeOperate)
}

// Tokens verifies bearer tokens and caches the valid ones until they expire.
type Tokens struct {
	secret []byte  // of a development issuer
	keys   *KeySet // of an identity provider; nil for a development issuer
	now    func() time.Time
	policy atomic.Pointer[checks] // nil while suspended

	mu    sync.RWMutex
	known map[[sha256.Size]byte]verified
}

// checks is a policy with its parser.
type checks struct {
	Policy
	parser *jwt.Parser
}

// verified is a cached token, with the key generation and the policy it was verified
// under.
type verified struct {
	claims *Claims
	keys   uint64
	policy *checks
}

// NewTokens verifies HS256 tokens of a development issuer.
func NewTokens(secret, issuer, audience string, now func() time.Time) *Tokens {
	t := &Tokens{secret: []byte(secret), now: now, known: make(map[[sha256.Size]byte]verified)}
	t.Configure(Policy{Issuer: issuer, Audience: audience, ScopeClaims: []string{"scope"}, UserClaim: "sub"})
	return t
}

// NewProviderTokens verifies RS256, ES256 and EdDSA tokens of a provider. HS256 is not
// accepted beside them, because a public key could pass as the shared secret.
func NewProviderTokens(keys *KeySet, p Policy, now func() time.Time) *Tokens {
	t := &Tokens{keys: keys, now: now, known: make(map[[sha256.Size]byte]verified)}
	t.Configure(p)
	return t
}

// Configure replaces the policy, for cached tokens, too.
func (t *Tokens) Configure(p Policy) {
	methods := []string{jwt.SigningMethodHS256.Alg()}
	if t.keys != nil {
		methods = []string{jwt.SigningMethodRS256.Alg(), jwt.SigningMethodES256.Alg(), jwt.SigningMethodEdDSA.Alg()}
	}
	t.policy.Store(&checks{p, jwt.NewParser(
		jwt.WithValidMethods(methods), jwt.WithIssuer(p.Issuer), jwt.WithIssuedAt(),
		jwt.WithLeeway(leeway), jwt.WithTimeFunc(t.now), jwt.WithStrictDecoding(),
	)})
}

// Suspend has every token answered as unavailable until Configure: the policy is not
// known yet.
func (t *Tokens) Suspend() { t.policy.Store(nil) }

// Admits returns why a token would not be an administrator's under another policy, and for
// a provider with the key set at another URL, which it reads; nil if it would.
func (t *Tokens) Admits(ctx context.Context, token string, p Policy, keysURL string) error {
	other := &Tokens{secret: t.secret, keys: t.keys, now: t.now}
	if t.keys != nil && keysURL != t.keys.address() {
		var err error
		if other.keys, err = t.keys.at(ctx, keysURL); err != nil {
			return err
		}
	}
	other.Configure(p)
	claims, err := other.parse(ctx, other.policy.Load(), token)
	if err != nil {
		return err
	}
	if !claims.Has(ScopeAdmin) {
		return errors.New("it lacks the scope " + ScopeAdmin)
	}
	return nil
}

// Verify returns a token's claims, or unauthorized; unavailable until the provider's
// keys have been read once.
func (t *Tokens) Verify(ctx context.Context, token string) (*Claims, error) {
	if len(token) > maxTokenLength {
		return nil, reject(ReasonMalformed, fmt.Sprintf("it has more than %d bytes", maxTokenLength))
	}
	if strings.ContainsAny(token, lineBreaks) {
		return nil, reject(ReasonMalformed, "it contains a line break")
	}
	policy, keys := t.policy.Load(), t.generation()
	if policy == nil {
		return nil, errSuspended()
	}
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
		clear(t.known) // rare, and simpler than an eviction order
	}
	// With the generation read before: a key that was withdrawn meanwhile invalidates
	// the entry.
	t.known[sum] = verified{c, keys, policy}
	return c, nil
}

// generation changes with the provider's keys, which invalidates the cached tokens of
// a withdrawn key.
func (t *Tokens) generation() uint64 {
	if t.keys == nil {
		return 0
	}
	return t.keys.change.Load()
}

func (t *Tokens) parse(ctx context.Context, policy *checks, token string) (*Claims, error) {
	if t.keys == nil && len(t.secret) == 0 {
		return nil, reject(
			ReasonDisabled, "this server accepts none: neither auth.jwks_url nor auth.jwt_secret is set",
		)
	}
	if checkJWSHeader(token) != nil {
		return nil, reject(ReasonMalformed, "it is not a JWT")
	}
	var claims jwtClaims
	signer, supported := "", false
	_, err := policy.parser.ParseWithClaims(token, &claims, func(token *jwt.Token) (any, error) {
		supported = true
		if err := checkHeader(token.Header); err != nil {
			return nil, err
		}
		if t.keys != nil {
			key, err := t.keys.key(ctx, token)
			if err == nil {
				signer = nameKey(token.Header["kid"], key)
			}
			return key, err
		}
		return t.secret, nil
	})
	if wire.CodeOf(err) == wire.CodeUnavailable {
		return nil, err
	}
	if err != nil {
		r := rejectionOf(err)
		if !supported && r.Reason != ReasonMalformed {
			r = &Rejection{ReasonAlgorithm, "its alg is not one that this server accepts"}
		}
		return nil, unauthorizedBy(r)
	}
	if r := policy.check(&claims); r != nil {
		return nil, unauthorizedBy(r)
	}
	scopes, r := policy.scopes(&claims)
	if r != nil {
		return nil, unauthorizedBy(r)
	}
	user, external, r := policy.user(&claims)
	if r != nil {
		return nil, unauthorizedBy(r)
	}
	return &Claims{
		User: user, External: external, Scopes: scopes, Expires: claims.ExpiresAt.Time, Key: signer,
	}, nil
}

// nameKey returns the Key of claims.
func nameKey(kid, key any) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "" // not for the three kinds of keys in a set
	}
	sum := sha256.Sum256(der)
	return fmt.Sprintf("%x %v", sum[:8], kid)
}

// Recheck returns why claims are no longer valid that were verified before, perhaps by
// another node: their token has expired, or the provider has withdrawn its key.
func (t *Tokens) Recheck(ctx context.Context, c *Claims) error {
	if !t.now().Before(c.Expires.Add(leeway)) {
		return unauthorizedBy(&expired)
	}
	if t.policy.Load() == nil {
		return errSuspended()
	}
	if t.keys == nil {
		return nil
	}
	_, kid, _ := strings.Cut(c.Key, " ")
	key, err := t.keys.named(ctx, kid)
	if wire.CodeOf(err) == wire.CodeUnavailable {
		return err
	}
	if err != nil || nameKey(kid, key) != c.Key {
		return reject(ReasonKey, "the identity provider has withdrawn its key")
	}
	return nil
}

func errSuspended() error {
	return &scoreboard.Error{
		Code: wire.CodeUnavailable, Message: "tokens are not accepted yet: the settings were not read",
		RetryAfter: retryAfterSet,
	}
}

// checkHeader rejects what the parser accepts: critical extensions (RFC 7515, 4.1.11),
// and objects that were signed for another purpose.
func checkHeader(header map[string]any) error {
	if _, ok := header["crit"]; ok {
		return &Rejection{ReasonType, "its header has critical extensions"}
	}
	if !hasType(header, "jwt", "at+jwt") {
		return &Rejection{ReasonType, "its typ is not that of a token"}
	}
	return nil
}

// hasType reports whether a header has no typ or one of the allowed ones.
func hasType(header map[string]any, allowed ...string) bool {
	typ, given := header["typ"]
	name, _ := typ.(string)
	return !given || slices.Contains(allowed, strings.TrimPrefix(strings.ToLower(name), "application/"))
}

func unauthorized(message string) error {
	return &scoreboard.Error{Code: wire.CodeUnauthorized, Message: message}
}

// Mint issues a token of the development issuer.
func (t *Tokens) Mint(user scoreboard.UserID, scope string, ttl time.Duration) (string, time.Time, error) {
	if len(t.secret) == 0 {
		return "", time.Time{}, errors.New("mint a token: this server uses an identity provider")
	}
	now, policy := t.now(), t.policy.Load()
	if policy == nil {
		return "", time.Time{}, errors.New("mint a token: the settings have not been read yet")
	}
	expires := now.Add(ttl).Truncate(time.Second)
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwtClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: string(user), Issuer: policy.Issuer, Audience: jwt.ClaimStrings{policy.Audience},
			IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(expires),
		}, Scope: scope,
	}).SignedString(t.secret)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("mint a token: %w", err)
	}
	return token, expires, nil
}
