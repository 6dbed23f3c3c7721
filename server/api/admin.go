package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// decode reads a small body into v, strictly.
func decode(c *gin.Context, v any) error {
	body, err := readBody(c, maxBody)
	if err != nil {
		return err
	}
	if err := protocol.CheckObject(body); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return scoreboard.Invalid("", "the body is not the JSON that is expected")
	}
	c.Set(keyBody, body)
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
	life, err := duration("ttl", r.TTL, defaultTokenLife, maxTokenLife)
	if err != nil {
		return err
	}
	token, expires, err := a.Tokens.Mint(user, r.Scope, life)
	if err != nil {
		return err
	}
	about(c, "user", string(user))
	respond(c, http.StatusCreated, protocol.Token{Token: token, ExpiresAt: expires.UTC()})
	return nil
}
