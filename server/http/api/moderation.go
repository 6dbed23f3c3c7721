package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Moderation changes users' status and scores. A change and its audit entry are one
// transaction.
type Moderation interface {
	Ban(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error)
	Unban(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error)
	Freeze(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error)
	Unfreeze(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error)
	Adjust(ctx context.Context, a scoreboard.Adjustment, why *scoreboard.AuditEntry) (*scoreboard.Receipt, error)
	Reverse(
		ctx context.Context, user scoreboard.UserID, event scoreboard.EventID, how scoreboard.Reversing,
		why *scoreboard.AuditEntry,
	) (receipts []scoreboard.Receipt, closed []scoreboard.BoardID, err error)
	UserStatus(ctx context.Context, user scoreboard.UserID) (string, error)
	UserRecord(ctx context.Context, user scoreboard.UserID) (*scoreboard.UserRecord, error)
	Voids
	PersonalData
}

type statusChange func(
	ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry,
) (*scoreboard.UserState, error)

// setStatus is POST /v1/admin/users/{user_id}/ban, unban, freeze and unfreeze.
func setStatus(change statusChange) handler {
	return func(c *gin.Context, caller *auth.Claims) error {
		user, reason, err := userAndReason(c)
		if err != nil {
			return err
		}
		state, err := change(c.Request.Context(), user, newAuditEntry(c, caller, scoreboard.AuditUser(user), reason))
		if err != nil {
			return err
		}
		respond(c, http.StatusOK, wire.UserState{
			UserID: string(state.User), Status: state.Status, Changed: state.Changed, Pending: state.Pending,
		})
		return nil
	}
}

// userAndReason returns the user in the path and the reason in the body.
func userAndReason(c *gin.Context) (scoreboard.UserID, string, error) {
	var r wire.ReasonRequest
	if err := decode(c, &r); err != nil {
		return "", "", err
	}
	user, err := scoreboard.ParseUserID(c.Param("user_id"))
	if err != nil {
		return "", "", err
	}
	return user, r.Reason, scoreboard.CheckReason(r.Reason)
}

// moderation changes users' status and scores.
type moderation struct {
	store   Moderation
	catalog Catalog
	ranks   *ranks
}

// adjust is POST /v1/admin/users/{user_id}/adjust.
func (h *moderation) adjust(c *gin.Context, caller *auth.Claims) error {
	var r wire.AdjustRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	user, err := scoreboard.ParseClientUserID(c.Param("user_id"))
	if err != nil {
		return err
	}
	event, err := scoreboard.ParseEventID(user, r.EventID)
	if err != nil {
		return err
	}
	if err := scoreboard.CheckReason(r.Reason); err != nil {
		return err
	}
	a := scoreboard.Adjustment{
		User: user, Event: event, Delta: r.Delta, Subscore: (*scoreboard.Score)(r.Subscore),
	}
	if err := a.Check(); err != nil {
		return err
	}
	name := scoreboard.GlobalBoard
	if r.Board != "" {
		if name, err = scoreboard.ParseBoardID(r.Board); err != nil {
			return err
		}
	}
	board, err := h.catalog.Board(c.Request.Context(), name)
	if err != nil {
		return err
	}
	why := newAuditEntry(c, caller, scoreboard.AuditUser(user), r.Reason)
	why.Detail = auditDetail(r)
	a.Board = board.ID
	receipt, err := h.store.Adjust(c.Request.Context(), a, why)
	if err != nil {
		return err
	}
	h.ranks.respondRanked(c, user, event, []scoreboard.Receipt{*receipt})
	return nil
}

// reverse is POST /v1/admin/events/{event_id}/reverse.
func (h *moderation) reverse(c *gin.Context, caller *auth.Claims) error {
	var r wire.ReverseRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	user, err := scoreboard.ParseUserID(r.UserID)
	if err != nil {
		return err
	}
	event, err := scoreboard.ParseEventID(user, c.Param("event_id"))
	if err != nil {
		return err
	}
	kind, err := scoreboard.ParseEventKind(r.Kind)
	if err != nil {
		return err
	}
	if err := scoreboard.CheckReason(r.Reason); err != nil {
		return err
	}
	why := newAuditEntry(c, caller, scoreboard.AuditUser(user), r.Reason)
	detail := map[string]string{"event_id": event.Text}
	if kind != "" {
		detail["kind"] = string(kind)
	}
	why.Detail = auditDetail(detail)
	how := scoreboard.Reversing{Kind: kind, OpenBoards: r.OpenBoards}
	receipts, closed, err := h.store.Reverse(c.Request.Context(), user, event, how, why)
	if err != nil {
		return err
	}
	if len(closed) == 0 {
		h.ranks.respondRanked(c, user, receipts[0].Event, receipts)
		return nil
	}
	h.ranks.rank(c, receipts)
	out := h.ranks.subscores.receiptsJSON(c.Request.Context(), user, receipts[0].Event, receipts)
	for _, board := range closed {
		out.ClosedBoards = append(out.ClosedBoards, string(board))
	}
	respond(c, http.StatusOK, out)
	return nil
}

// reasons tells users why they are on no board.
type reasons struct {
	statuses Statuses
	hidden   Hidden
}

// explainBan replaces the not_found of a banned user's own read by a forbidden.
func (r *reasons) explainBan(ctx context.Context, user scoreboard.UserID, err error) error {
	if wire.CodeOf(err) != wire.CodeNotFound || r.statuses == nil {
		return err
	}
	status, statusErr := r.statuses.UserStatus(ctx, user)
	if statusErr == nil && status == "banned" {
		return scoreboard.Errorf(wire.CodeForbidden, "user %s is banned", user)
	}
	return err
}

// explainPrivate returns a not_found of a user about their own rank, or of an operator, as one
// that says that the user is on no board.
func (r *reasons) explainPrivate(user scoreboard.UserID, err error) error {
	if wire.CodeOf(err) != wire.CodeNotFound ||
		r.hidden.Visibility(user) != scoreboard.VisibilityPrivate {
		return err
	}
	return scoreboard.Errorf(wire.CodeNotFound, "user %s is private and not on any board", user)
}
