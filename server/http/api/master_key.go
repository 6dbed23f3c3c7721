package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Secrets are the stored secrets that master keys encrypt. A change and its audit entry are one
// transaction.
type Secrets interface {
	// ReencryptAll stores every valid secret as reencrypt returns it; nil is no change.
	ReencryptAll(
		ctx context.Context, reencrypt func(id string, sealed []byte) ([]byte, error), why *scoreboard.AuditEntry,
	) (scoreboard.Reencryption, error)
}

// masterKey encrypts stored secrets with the first master key.
type masterKey struct {
	secrets Secrets
	keyring *auth.Keyring
}

// rotateMasterKey is POST /v1/admin/master-key/rotate. It may be repeated: what is encrypted
// with the first master key already stays as it is.
func (h *masterKey) rotateMasterKey(c *gin.Context, caller *auth.Claims) error {
	if err := decodeNothing(c); err != nil {
		return err
	}
	r, err := h.secrets.ReencryptAll(c.Request.Context(), h.keyring.Reencrypt, auditEntry(c, caller, "master-key"))
	if err != nil {
		return err
	}
	out := wire.MasterKeyRotation{Encrypted: r.Changed, Unchanged: r.Unchanged, Unreadable: []string{}}
	out.Unreadable = append(out.Unreadable, r.Unreadable...)
	respond(c, http.StatusOK, out)
	return nil
}
