package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// PersonalData exports and erases what is stored about a user.
type PersonalData interface {
	// Known reports whether anything is stored about the user.
	Known(ctx context.Context, user scoreboard.UserID) (bool, error)
	Export(ctx context.Context, user scoreboard.UserID, do func(kind string, row json.RawMessage) error) error
	BeginErasure(
		ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry,
	) (anonymous scoreboard.UserID, err error)
	// EraseStep is called until it returns 0.
	EraseStep(ctx context.Context, user, anonymous scoreboard.UserID) (int64, error)
	// WaitUntilHidden waits a limited time until no ranking shows the user.
	WaitUntilHidden(ctx context.Context, user scoreboard.UserID) (pending bool, err error)
}

// userData shows, exports and erases what is stored about a user.
type userData struct {
	store     Moderation
	slots     jobSlots
	subscores subscoreBoards
	trail     Trail
	log       *slog.Logger
}

// showUser is GET /v1/admin/users/{user_id}: the status with its reason, the scores
// and the number of open flags.
func (h *userData) showUser(c *gin.Context, _ *auth.Claims) error {
	user, err := scoreboard.ParseUserID(c.Param("user_id"))
	if err != nil {
		return err
	}
	u, err := h.store.UserRecord(c.Request.Context(), user)
	if err != nil {
		return err
	}
	out := wire.User{
		UserID: string(u.User), ExternalID: u.External, Status: u.Status, CreatedAt: u.Created, Since: timePtr(u.Since),
		By:     string(u.By),
		Reason: u.Reason, OpenFlags: u.OpenFlags, Scores: []wire.UserScore{},
		VoidFailures: voidFailuresJSON(u.VoidFailures),
	}
	for _, s := range u.Scores {
		score := wire.UserScore{
			Board: string(s.Board), Score: int64(s.Score), Version: s.Version, ReachedAt: s.ReachedAt, Hidden: s.Hidden,
		}
		if h.subscores.on(c.Request.Context(), s.Board) {
			score.Subscore = (*int64)(&s.Subscore)
		}
		out.Scores = append(out.Scores, score)
	}
	respond(c, http.StatusOK, out)
	return nil
}

// export is GET /v1/admin/users/{user_id}/export. The read is audited before
// anything is sent.
func (h *userData) export(c *gin.Context, caller *auth.Claims) error {
	user, err := scoreboard.ParseUserID(c.Param("user_id"))
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	known, err := h.store.Known(ctx, user)
	if err == nil && !known {
		err = scoreboard.Errorf(wire.CodeNotFound, "user %s not found", user)
	}
	if err != nil {
		return err
	}
	done, err := h.slots.take(ctx, "")
	if err != nil {
		return err
	}
	defer done()
	if err := h.trail.Add(ctx, newAuditEntry(c, caller, scoreboard.AuditUser(user), "")); err != nil {
		return err
	}
	c.Header("Content-Type", "application/x-ndjson")
	c.Status(http.StatusOK)
	var end wire.ExportLine
	write := json.NewEncoder(c.Writer)
	err = h.store.Export(ctx, user, func(kind string, row json.RawMessage) error {
		end.Rows++
		extendWriteDeadline(c)
		return write.Encode(wire.ExportLine{Kind: kind, Row: row})
	})
	if err != nil { // the status line is sent; the missing end shows the failure
		requestLog(h.log, c).Warn("export incomplete", "err", err)
		return nil
	}
	end.Kind = "end"
	_ = write.Encode(end) // fails only for a client that disconnected
	return nil
}

// erase is POST /v1/admin/users/{user_id}/erase. If it is interrupted, a node with
// the role maintenance completes the erasure.
func (h *userData) erase(c *gin.Context, caller *auth.Claims) error {
	user, reason, err := userAndReason(c)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	anonymous, err := h.store.BeginErasure(ctx, user, newAuditEntry(c, caller, "", reason))
	if err != nil {
		return err
	}
	out := wire.Erased{Anonymous: string(anonymous)}
	for {
		n, err := h.store.EraseStep(ctx, user, anonymous)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		out.Rows += n
	}
	if out.Pending, err = h.store.WaitUntilHidden(ctx, user); err != nil {
		return err
	}
	respond(c, http.StatusOK, out)
	return nil
}
