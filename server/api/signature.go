package api

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// signer is the key that signed a write. The zero value is no key, where
// signatures are optional.
type signer struct {
	keyID string
	scope *scoreboard.KeyScope
}

// checkSignature verifies the header scheme if its header is present, else the
// field scheme, and returns the key that signed.
func (a *API) checkSignature(c *gin.Context, cmd *command, body []byte) (signer, error) {
	if signature := c.GetHeader(protocol.HeaderSignature); signature != "" {
		return a.checkHeaderSignature(c, signature, body)
	}
	if cmd.request.Signature == "" {
		if a.currentPolicy().SignatureOptional {
			return signer{}, nil
		}
		return signer{}, auth.ErrSignature()
	}
	r := cmd.request
	return a.verifySignature(c, r.KeyID, r.FieldText(), r.Signature, cmd.Client)
}

func (a *API) checkHeaderSignature(c *gin.Context, header string, body []byte) (signer, error) {
	keyID, timestamp := c.GetHeader(protocol.HeaderKey), c.GetHeader(protocol.HeaderTimestamp)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	signature, ok := strings.CutPrefix(header, protocol.SignatureVersion)
	if err != nil || !ok {
		return signer{}, auth.ErrSignature()
	}
	text := protocol.HeaderText(c.Request.Method, c.Request.URL.RequestURI(), keyID, timestamp, body)
	return a.verifySignature(c, keyID, text, signature, time.Unix(seconds, 0))
}

// verifySignature verifies a signature of text.
func (a *API) verifySignature(
	c *gin.Context, keyID string, text []byte, signature string, at time.Time,
) (signer, error) {
	scope, err := a.Keyring.Check(c.Request.Context(), keyID, text, signature, at)
	return signer{keyID, scope}, err
}

// checkKeyScope returns why the key may not sign an increment, and counts the
// increment against the key's limit.
func (a *API) checkKeyScope(ctx context.Context, by signer, in *scoreboard.Increment) error {
	if by.scope == nil {
		return nil
	}
	if err := by.scope.Check(in); err != nil {
		return err
	}
	if by.scope.PerMinute == 0 || a.Limits.Key == nil {
		return nil
	}
	return take(ctx, a.Limits.Key(by.scope.PerMinute), by.keyID)
}
