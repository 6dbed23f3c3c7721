package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Moderation changes what users are and have. Each change writes its entry of
// the trail with it.
type Moderation interface {
	Ban(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error)
	Unban(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error)
	Freeze(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error)
	Unfreeze(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error)
	Adjust(ctx context.Context, user scoreboard.UserID, board scoreboard.BoardID, delta int64, event scoreboard.EventID, why *scoreboard.AuditEntry) (*scoreboard.Receipt, error)
	Reverse(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID, why *scoreboard.AuditEntry) ([]scoreboard.Receipt, error)
	UserStatus(ctx context.Context, user scoreboard.UserID) (string, error)
	UserRecord(ctx context.Context, user scoreboard.UserID) (*scoreboard.UserRecord, error)
	Voids
	People
}

func (a *API) moderationRoutes() []route {
	return []route{
		{"GET", "/v1/admin/users/:user_id", auth.ScopeAdmin, unlimited, a.showUser},
		{"POST", "/v1/admin/users/:user_id/ban", auth.ScopeAdmin, unlimited, a.setStatus(a.Moderation.Ban)},
		{"POST", "/v1/admin/users/:user_id/unban", auth.ScopeAdmin, unlimited, a.setStatus(a.Moderation.Unban)},
		{"POST", "/v1/admin/users/:user_id/freeze", auth.ScopeAdmin, unlimited, a.setStatus(a.Moderation.Freeze)},
		{"POST", "/v1/admin/users/:user_id/unfreeze", auth.ScopeAdmin, unlimited, a.setStatus(a.Moderation.Unfreeze)},
		{"POST", "/v1/admin/users/:user_id/adjust", auth.ScopeAdmin, unlimited, a.adjust},
		{"POST", "/v1/admin/events/:event_id/reverse", auth.ScopeAdmin, unlimited, a.reverse},
		{"GET", "/v1/admin/users/:user_id/export", auth.ScopeAdmin, unlimited, a.export},
		{"POST", "/v1/admin/users/:user_id/erase", auth.ScopeAdmin, unlimited, a.erase},
		{"POST", "/v1/admin/voids", auth.ScopeAdmin, unlimited, a.createVoid},
		{"GET", "/v1/admin/voids", auth.ScopeAdmin, unlimited, a.listVoids},
		{"GET", "/v1/admin/voids/:id", auth.ScopeAdmin, unlimited, a.showVoid},
		{"POST", "/v1/admin/voids/:id/undo", auth.ScopeAdmin, unlimited, a.undoVoid},
	}
}

type statusChange func(ctx context.Context, user scoreboard.UserID, why *scoreboard.AuditEntry) (*scoreboard.UserState, error)

// setStatus is POST /v1/admin/users/{user_id}/ban and its like.
func (a *API) setStatus(change statusChange) handler {
	return func(c *gin.Context, who *auth.Claims) error {
		user, reason, err := userAndReason(c)
		if err != nil {
			return err
		}
		state, err := change(c.Request.Context(), user, entry(c, who, scoreboard.AuditUser(user), reason))
		if err != nil {
			return err
		}
		respond(c, http.StatusOK, protocol.UserState{UserID: string(state.User), Status: state.Status, Changed: state.Changed, Pending: state.Pending})
		return nil
	}
}

// userAndReason reads what every change of one user's standing needs: whom the
// path names, and why.
func userAndReason(c *gin.Context) (scoreboard.UserID, string, error) {
	var r protocol.ReasonRequest
	if err := decode(c, &r); err != nil {
		return "", "", err
	}
	user, err := scoreboard.ParseUserID(c.Param("user_id"))
	if err != nil {
		return "", "", err
	}
	return user, r.Reason, scoreboard.CheckReason(r.Reason)
}

// adjust is POST /v1/admin/users/{user_id}/adjust.
func (a *API) adjust(c *gin.Context, who *auth.Claims) error {
	var r protocol.AdjustRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	user, err := scoreboard.ParseUserID(c.Param("user_id"))
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
	if r.Delta == 0 || r.Delta > scoreboard.MaxScore || r.Delta < -scoreboard.MaxScore {
		return &scoreboard.Error{Code: scoreboard.CodeDeltaOutOfRange, Field: "delta", Message: "delta must not be 0, and within ±2^53 − 1"}
	}
	name := scoreboard.GlobalBoard
	if r.Board != "" {
		if name, err = scoreboard.ParseBoardID(r.Board); err != nil {
			return err
		}
	}
	board, err := a.Catalog.Board(c.Request.Context(), name)
	if err != nil {
		return err
	}
	why := entry(c, who, scoreboard.AuditUser(user), r.Reason)
	why.Detail = detail(r)
	receipt, err := a.Moderation.Adjust(c.Request.Context(), user, board.ID, r.Delta, event, why)
	if err != nil {
		return err
	}
	a.answerReceipts(c, user, event, []scoreboard.Receipt{*receipt})
	return nil
}

// reverse is POST /v1/admin/events/{event_id}/reverse.
func (a *API) reverse(c *gin.Context, who *auth.Claims) error {
	var r protocol.ReverseRequest
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
	if err := scoreboard.CheckReason(r.Reason); err != nil {
		return err
	}
	why := entry(c, who, scoreboard.AuditUser(user), r.Reason)
	why.Detail = detail(map[string]string{"event_id": event.Text})
	receipts, err := a.Moderation.Reverse(c.Request.Context(), user, event, why)
	if err != nil {
		return err
	}
	a.answerReceipts(c, user, receipts[0].Event, receipts)
	return nil
}

// answerReceipts ranks receipts and sends one as it is, several as a list.
func (a *API) answerReceipts(c *gin.Context, user scoreboard.UserID, event scoreboard.EventID, receipts []scoreboard.Receipt) {
	a.rank(c, receipts)
	if len(receipts) == 1 {
		respond(c, http.StatusOK, receiptJSON(&receipts[0]))
		return
	}
	out := make([]protocol.Receipt, len(receipts))
	for i := range receipts {
		out[i] = receiptJSON(&receipts[i])
	}
	respond(c, http.StatusOK, protocol.Receipts{UserID: string(user), ProcessedEventID: event.Text, Receipts: out})
}

// notBanned tells a user that is nowhere to be found why, where it is for a
// ban.
func (a *API) notBanned(ctx context.Context, user scoreboard.UserID, err error) error {
	if scoreboard.CodeOf(err) != scoreboard.CodeNotFound || a.Statuses == nil {
		return err
	}
	status, lookErr := a.Statuses.UserStatus(ctx, user)
	if lookErr == nil && status == "banned" {
		return scoreboard.Errorf(scoreboard.CodeForbidden, "user %s is banned", user)
	}
	return err
}
