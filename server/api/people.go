package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// People is what is kept about one person.
type People interface {
	Export(ctx context.Context, user scoreboard.UserID, do func(kind string, row json.RawMessage) error) error
	BeginErasure(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (scoreboard.UserID, error)
	// EraseStep is called until it returns 0.
	EraseStep(ctx context.Context, user, anonymous scoreboard.UserID) (int64, error)
	// WaitUntilHidden waits, within a limit, until no ranking shows an erased user.
	WaitUntilHidden(ctx context.Context, user scoreboard.UserID) (pending bool, err error)
}

// export is GET /v1/admin/users/{user_id}/export: who looked is in the trail,
// before anything is shown.
func (a *API) export(c *gin.Context, who *auth.Claims) error {
	user, err := scoreboard.ParseUserID(c.Param("user_id"))
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	status, err := a.Moderation.UserStatus(ctx, user)
	if err == nil && status == "" {
		err = scoreboard.Errorf(scoreboard.CodeNotFound, "there is no user %s", user)
	}
	if err == nil {
		err = a.Trail.Audited(ctx, entry(c, who, scoreboard.AuditUser(user), ""))
	}
	if err != nil {
		return err
	}
	c.Header("Content-Type", "application/x-ndjson")
	c.Status(http.StatusOK)
	var end protocol.ExportLine
	write := json.NewEncoder(c.Writer)
	err = a.Moderation.Export(ctx, user, func(kind string, row json.RawMessage) error {
		end.Rows++
		hurry(c)
		return write.Encode(protocol.ExportLine{Kind: kind, Row: row})
	})
	if err != nil { // the status is sent; the missing end tells
		a.Log.Warn("export cut short", "request_id", c.GetString(keyRequestID), "err", err)
		return nil
	}
	end.Kind = "end"
	_ = write.Encode(end) // who has gone reads no end
	return nil
}

// erase is POST /v1/admin/users/{user_id}/erase. What it does not get done is
// done by a node with the role maintenance.
func (a *API) erase(c *gin.Context, who *auth.Claims) error {
	user, reason, err := userAndReason(c)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	anonymous, err := a.Moderation.BeginErasure(ctx, user, entry(c, who, "", reason))
	if err != nil {
		return err
	}
	out := protocol.Erased{Anonymous: string(anonymous)}
	for {
		n, err := a.Moderation.EraseStep(ctx, user, anonymous)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		out.Rows += n
	}
	if out.Pending, err = a.Moderation.WaitUntilHidden(ctx, user); err != nil {
		return err
	}
	respond(c, http.StatusOK, out)
	return nil
}
