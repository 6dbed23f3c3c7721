package api

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Keys keeps signing keys. A change is in the trail where it is in the store.
type Keys interface {
	CreateKey(ctx context.Context, id, name string, sealed []byte, scope *scoreboard.KeyScope, life time.Duration, why *scoreboard.AuditEntry) (protocol.Key, error)
	RotateKey(ctx context.Context, id string, sealed []byte, overlap time.Duration, why *scoreboard.AuditEntry) (protocol.Key, error)
	Keys(ctx context.Context) ([]protocol.Key, error)
	RevokeKey(ctx context.Context, id string, why *scoreboard.AuditEntry) (protocol.Key, error)
}

// Bounds of what a key may be given.
const (
	maxKeyBoards   = 100
	maxKeyLife     = 10 * 366 * 24 * time.Hour
	maxKeyRate     = 1_000_000 // events a minute, what buckets measure well
	defaultOverlap = 24 * time.Hour
	maxOverlap     = 30 * 24 * time.Hour
)

// newSecret makes a secret that nobody can guess.
func newSecret() string { return "sk_" + strings.ToLower(rand.Text()) }

// NewKey makes a key id and a secret.
func NewKey() (id, secret string) { return "k_" + strings.ToLower(rand.Text()[:12]), newSecret() }

// createKey is POST /v1/admin/keys: with rotation, the only time that a secret
// is shown.
func (a *API) createKey(c *gin.Context, who *auth.Claims) error {
	var r protocol.KeyRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if r.Name == "" || len(r.Name) > 128 || strings.ContainsRune(r.Name, 0) {
		return scoreboard.Invalid("name", "name must be 1 to 128 bytes")
	}
	scope, err := keyScope(&r)
	if err != nil {
		return err
	}
	life, err := duration("ttl", r.TTL, 0, maxKeyLife)
	if err != nil {
		return err
	}
	for _, board := range scope.Boards {
		if _, err := a.Boards.FindBoard(c.Request.Context(), board); err != nil {
			return err
		}
	}
	id, secret := NewKey()
	key, err := a.Keys.CreateKey(c.Request.Context(), id, r.Name, a.Keyring.Seal(id, secret), scope, life, told(c, who, "key:"+id))
	if err != nil {
		return err
	}
	key.Secret = secret
	respond(c, http.StatusCreated, key)
	return nil
}

func keyScope(r *protocol.KeyRequest) (*scoreboard.KeyScope, error) {
	s := &scoreboard.KeyScope{UserPrefix: r.UserPrefix, MaxDelta: r.MaxDelta, PerMinute: r.PerMinute}
	if len(r.Boards) > maxKeyBoards {
		return nil, scoreboard.Invalid("boards", "boards must be at most %d", maxKeyBoards)
	}
	for _, name := range r.Boards {
		board, err := scoreboard.ParseBoardID(name)
		if err != nil || board.IsInstance() {
			return nil, scoreboard.Invalid("boards", "boards must be names of boards, without an instance")
		}
		s.Boards = append(s.Boards, board)
	}
	if _, err := scoreboard.ParseUserID(r.UserPrefix); r.UserPrefix != "" && err != nil {
		return nil, scoreboard.Invalid("user_prefix", "user_prefix must be the beginning of user ids")
	}
	if r.MaxDelta < 0 || r.MaxDelta > scoreboard.MaxScore {
		return nil, scoreboard.Invalid("max_delta", "max_delta must be 0 to %d", int64(scoreboard.MaxScore))
	}
	if r.PerMinute < 0 || r.PerMinute > maxKeyRate {
		return nil, scoreboard.Invalid("per_minute", "per_minute must be 0 to %d", maxKeyRate)
	}
	return s, nil
}

// duration reads a Go duration of a body, absent where there is none.
func duration(field, text string, absent, most time.Duration) (time.Duration, error) {
	if text == "" {
		return absent, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > most {
		return 0, scoreboard.Invalid(field, "%s must be a duration of at most %s, such as 15m", field, most)
	}
	return d, nil
}

// rotateKey is POST /v1/admin/keys/{key_id}/rotate: another secret, beside which
// the former one stays good for the overlap.
func (a *API) rotateKey(c *gin.Context, who *auth.Claims) error {
	var r protocol.RotateRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	overlap, err := duration("overlap", r.Overlap, defaultOverlap, maxOverlap)
	if err != nil {
		return err
	}
	id, err := keyID(c)
	if err != nil {
		return err
	}
	secret := newSecret()
	key, err := a.Keys.RotateKey(c.Request.Context(), id, a.Keyring.Seal(id, secret), overlap, told(c, who, "key:"+id))
	if err != nil {
		return err
	}
	key.Secret = secret
	respond(c, http.StatusOK, key)
	return nil
}

// keyID reads the key of the path; what can be no id is the id of none.
func keyID(c *gin.Context) (string, error) {
	id := c.Param("key_id")
	if _, err := scoreboard.ParseUserID(id); err != nil {
		return "", scoreboard.Errorf(scoreboard.CodeNotFound, "there is no such key")
	}
	return id, nil
}

// listKeys is GET /v1/admin/keys.
func (a *API) listKeys(c *gin.Context, _ *auth.Claims) error {
	keys, err := a.Keys.Keys(c.Request.Context())
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, protocol.Keys{Keys: keys})
	return nil
}

// revokeKey is DELETE /v1/admin/keys/{key_id}.
func (a *API) revokeKey(c *gin.Context, who *auth.Claims) error {
	id, err := keyID(c)
	if err != nil {
		return err
	}
	key, err := a.Keys.RevokeKey(c.Request.Context(), id, told(c, who, "key:"+id))
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, key)
	return nil
}

// signed is who signed a write. The zero value is nobody, where nobody must.
type signed struct {
	key   string
	scope *scoreboard.KeyScope
}

// checkScope says whether the key may sign an increment, and counts it.
func (a *API) checkScope(ctx context.Context, by signed, in *scoreboard.Increment) error {
	if by.scope == nil {
		return nil
	}
	if err := by.scope.Check(in); err != nil {
		return err
	}
	if by.scope.PerMinute == 0 || a.Limits.Key == nil {
		return nil
	}
	return take(ctx, a.Limits.Key(by.scope.PerMinute), by.key)
}
