package api

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Keys stores signing keys. A change and its audit entry are one transaction.
type Keys interface {
	CreateKey(
		ctx context.Context, id, name string, encrypted []byte, scope *scoreboard.KeyScope, ttl time.Duration,
		why *scoreboard.AuditEntry,
	) (scoreboard.Key, error)
	RotateKey(
		ctx context.Context, id string, encrypted []byte, overlap time.Duration, why *scoreboard.AuditEntry,
	) (scoreboard.Key, error)
	Keys(ctx context.Context) ([]scoreboard.Key, error)
	RevokeKey(ctx context.Context, id string, why *scoreboard.AuditEntry) (scoreboard.Key, error)
}

// The bounds of a key.
const (
	maxKeyName     = 128 // characters
	maxKeyBoards   = 100
	maxKeyTTL      = 10 * 366 * 24 * time.Hour
	maxKeyRate     = 1_000_000 // events a minute, the precision of the buckets
	defaultOverlap = 24 * time.Hour
	maxOverlap     = 30 * 24 * time.Hour
)

func newSecret() string { return "sk_" + strings.ToLower(rand.Text()) }

// NewKey makes a random key id and secret.
func NewKey() (id, secret string) { return "k_" + strings.ToLower(rand.Text()[:12]), newSecret() }

// keys shows and changes signing keys.
type keys struct {
	store   Keys
	boards  Boards
	keyring *auth.Keyring
}

// createKey is POST /v1/admin/keys. Only here and after a rotation a secret is shown.
func (h *keys) createKey(c *gin.Context, caller *auth.Claims) error {
	var r wire.KeyRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(r.Name); n == 0 || n > maxKeyName {
		return scoreboard.Invalid("name", "name must be 1 to %d characters", maxKeyName)
	}
	scope, err := keyScope(&r)
	if err != nil {
		return err
	}
	ttl, err := duration("ttl", r.TTL, 0, maxKeyTTL)
	if err != nil {
		return err
	}
	if r.TTL != "" && ttl <= 0 { // not: never expires
		return scoreboard.Invalid("ttl", "ttl must be greater than 0; without it the key does not expire")
	}
	for _, board := range scope.Boards {
		if _, err := h.boards.FindBoard(c.Request.Context(), board); err != nil {
			return err
		}
	}
	id, secret := NewKey()
	why := auditEntry(c, caller, "key:"+id)
	key, err := h.store.CreateKey(c.Request.Context(), id, r.Name, h.keyring.Encrypt(id, secret), scope, ttl, why)
	if err != nil {
		return err
	}
	respond(c, http.StatusCreated, keyJSON(&key, secret))
	return nil
}

// keyJSON returns a key as the API shows it. The secret is "" but in the response
// that creates it.
func keyJSON(k *scoreboard.Key, secret string) wire.Key {
	out := wire.Key{
		KeyID: k.ID, Name: k.Name, Secret: secret, CreatedAt: k.Created, ExpiresAt: timePtr(k.Expires),
		RevokedAt: timePtr(k.Revoked), UserPrefix: k.Scope.UserPrefix, MaxDelta: k.Scope.MaxDelta,
		PerMinute: k.Scope.PerMinute, Generation: k.Generation, RetiresAt: timePtr(k.Retires),
	}
	for _, board := range k.Scope.Boards {
		out.Boards = append(out.Boards, string(board))
	}
	return out
}

func keyScope(r *wire.KeyRequest) (*scoreboard.KeyScope, error) {
	s := &scoreboard.KeyScope{UserPrefix: r.UserPrefix, MaxDelta: r.MaxDelta, PerMinute: r.PerMinute}
	if r.Boards != nil && len(r.Boards) == 0 { // not: all boards
		return nil, scoreboard.Invalid("boards", "boards must not be empty; without it the key is for all boards")
	}
	if len(r.Boards) > maxKeyBoards {
		return nil, scoreboard.Invalid("boards", "boards must name at most %d boards", maxKeyBoards)
	}
	for _, name := range r.Boards {
		board, err := scoreboard.ParseBoardID(name)
		if err != nil || board.IsInstance() {
			return nil, scoreboard.Invalid("boards", "boards must be board names, not instances")
		}
		s.Boards = append(s.Boards, board)
	}
	if _, err := scoreboard.ParseClientUserID(r.UserPrefix); r.UserPrefix != "" && err != nil {
		return nil, scoreboard.Invalid("user_prefix",
			"user_prefix must be a prefix of user ids, and must not be one that the server makes")
	}
	if r.MaxDelta < 0 || r.MaxDelta > scoreboard.MaxScore {
		return nil, scoreboard.Invalid("max_delta", "max_delta must be from 0 to %d", int64(scoreboard.MaxScore))
	}
	if r.PerMinute < 0 || r.PerMinute > maxKeyRate {
		return nil, scoreboard.Invalid("per_minute", "per_minute must be from 0 to %d", maxKeyRate)
	}
	return s, nil
}

// rotateKey is POST /v1/admin/keys/{key_id}/rotate: a new secret; the former one
// stays valid for the overlap.
func (h *keys) rotateKey(c *gin.Context, caller *auth.Claims) error {
	id, overlap, err := rotation(c, keyID)
	if err != nil {
		return err
	}
	secret := newSecret()
	why := auditEntry(c, caller, "key:"+id)
	key, err := h.store.RotateKey(c.Request.Context(), id, h.keyring.Encrypt(id, secret), overlap, why)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, keyJSON(&key, secret))
	return nil
}

// rotation reads a request for a new secret: the id in the path, and how long the former
// secret stays valid.
func rotation(
	c *gin.Context, idOf func(*gin.Context) (string, error),
) (id string, overlap time.Duration, err error) {
	var r wire.RotateRequest
	if err = decode(c, &r); err != nil {
		return "", 0, err
	}
	if overlap, err = duration("overlap", r.Overlap, defaultOverlap, maxOverlap); err != nil {
		return "", 0, err
	}
	id, err = idOf(c)
	return id, overlap, err
}

// keyID returns the key id in the path.
func keyID(c *gin.Context) (string, error) { return pathName(c, "key_id", "key") }

// pathName returns a generated id in the path, which has the alphabet and length of user
// ids; a malformed one is not found.
func pathName(c *gin.Context, parameter, what string) (string, error) {
	id := c.Param(parameter)
	if _, err := scoreboard.ParseUserID(id); err != nil {
		return "", scoreboard.Errorf(wire.CodeNotFound, "%s not found", what)
	}
	return id, nil
}

// listKeys is GET /v1/admin/keys.
func (h *keys) listKeys(c *gin.Context, _ *auth.Claims) error {
	keys, err := h.store.Keys(c.Request.Context())
	if err != nil {
		return err
	}
	out := wire.Keys{Keys: make([]wire.Key, 0, len(keys))}
	for i := range keys {
		out.Keys = append(out.Keys, keyJSON(&keys[i], ""))
	}
	respond(c, http.StatusOK, out)
	return nil
}

// revokeKey is DELETE /v1/admin/keys/{key_id}.
func (h *keys) revokeKey(c *gin.Context, caller *auth.Claims) error {
	id, err := keyID(c)
	if err != nil {
		return err
	}
	key, err := h.store.RevokeKey(c.Request.Context(), id, auditEntry(c, caller, "key:"+id))
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, keyJSON(&key, ""))
	return nil
}

// The lifetimes of development tokens.
const (
	defaultTokenTTL = 15 * time.Minute
	maxTokenTTL     = 24 * time.Hour
)

// devTokens mints tokens, for development.
type devTokens struct {
	tokens *auth.Tokens
	trail  Trail
}

// mintToken is POST /v1/admin/tokens, which only a development issuer has. The audit
// entry is written first, because a token cannot be taken back.
func (h *devTokens) mintToken(c *gin.Context, caller *auth.Claims) error {
	var r wire.TokenRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	user, err := scoreboard.ParseClientUserID(r.UserID)
	if err != nil {
		return err
	}
	ttl, err := duration("ttl", r.TTL, defaultTokenTTL, maxTokenTTL)
	if err != nil {
		return err
	}
	why := auditEntry(c, caller, scoreboard.AuditUser(user))
	if err := h.trail.Add(c.Request.Context(), why); err != nil {
		return err
	}
	token, expires, err := h.tokens.Mint(user, r.Scope, ttl)
	if err != nil {
		return err
	}
	respond(c, http.StatusCreated, wire.Token{Token: token, ExpiresAt: expires.UTC()})
	return nil
}
