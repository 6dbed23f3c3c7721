package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Keys keeps signing keys.
type Keys interface {
	CreateKey(ctx context.Context, id, name string, sealed []byte) (protocol.Key, error)
	Keys(ctx context.Context) ([]protocol.Key, error)
	RevokeKey(ctx context.Context, id string) (protocol.Key, error)
}

// decode reads a small body into v, strictly.
func decode(c *gin.Context, v any) error {
	body, err := readBody(c, maxBody)
	if err != nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil || d.More() {
		return scoreboard.Invalid("", "the body is not the JSON that is expected")
	}
	c.Set(keyBody, body)
	return nil
}

// NewKey makes a key id and a secret that nobody can guess.
func NewKey() (id, secret string) {
	return "k_" + strings.ToLower(rand.Text()[:12]), "sk_" + strings.ToLower(rand.Text())
}

// createKey is POST /v1/admin/keys: the only time that the secret is shown.
func (a *API) createKey(c *gin.Context, _ *auth.Claims) error {
	var r protocol.KeyRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if r.Name == "" || len(r.Name) > 128 {
		return scoreboard.Invalid("name", "name must be 1 to 128 bytes")
	}
	id, secret := NewKey()
	key, err := a.Keys.CreateKey(c.Request.Context(), id, r.Name, a.Keyring.Seal(id, secret))
	if err != nil {
		return err
	}
	key.Secret = secret
	respond(c, http.StatusCreated, key)
	return nil
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
func (a *API) revokeKey(c *gin.Context, _ *auth.Claims) error {
	key, err := a.Keys.RevokeKey(c.Request.Context(), c.Param("key_id"))
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, key)
	return nil
}

// The lives that a development token may have.
const (
	defaultTokenLife = 15 * time.Minute
	maxTokenLife     = 24 * time.Hour
)

// mintToken is POST /v1/admin/tokens, which only a development issuer has.
func (a *API) mintToken(c *gin.Context, _ *auth.Claims) error {
	var r protocol.TokenRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	user, err := scoreboard.ParseUserID(r.UserID)
	if err != nil {
		return err
	}
	life := defaultTokenLife
	if r.TTL != "" {
		if life, err = time.ParseDuration(r.TTL); err != nil || life <= 0 || life > maxTokenLife {
			return scoreboard.Invalid("ttl", "ttl must be a duration of at most %s, such as 15m", maxTokenLife)
		}
	}
	token, expires, err := a.Tokens.Mint(user, r.Scope, life)
	if err != nil {
		return err
	}
	respond(c, http.StatusCreated, protocol.Token{Token: token, ExpiresAt: expires.UTC()})
	return nil
}
