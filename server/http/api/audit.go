package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Trail is the audit trail.
type Trail interface {
	Add(ctx context.Context, e *scoreboard.AuditEntry) error
	AuditEntries(ctx context.Context, f scoreboard.AuditFilter) ([]scoreboard.AuditEntry, error)
	VerifyChain(ctx context.Context, known *scoreboard.AuditSeal) (*scoreboard.AuditChain, error)
}

// maxAuditDetail is how much of a body the audit trail keeps.
const maxAuditDetail = maxBody

// newAuditEntry returns an entry that the handler writes in the transaction of the
// change, and marks the request as audited.
func newAuditEntry(c *gin.Context, caller *auth.Claims, target, reason string) *scoreboard.AuditEntry {
	c.Set(keyAudited, true)
	return &scoreboard.AuditEntry{
		Actor: caller.User, Address: address(c.Request), Agent: truncate(c.Request.UserAgent(), maxAgent),
		RequestID: c.GetString(keyRequestID), Action: c.GetString(keyAction), Target: target, Reason: reason,
	}
}

// auditEntry is newAuditEntry with the reason from the query and the body as the
// detail.
func auditEntry(c *gin.Context, caller *auth.Claims, target string) *scoreboard.AuditEntry {
	e := newAuditEntry(c, caller, target, c.Query(queryReason))
	if body, ok := c.Get(keyBody); ok && json.Valid(body.([]byte)) && len(body.([]byte)) <= maxAuditDetail {
		e.Detail = withoutUser(body.([]byte))
	}
	return e
}

// operatorsEntry is newAuditEntry for a route of servers: nil, unless an operator makes the
// change with the scope of one. What servers do (score:update) is not audited: they act for all
// users all the time, as the game's logic says, and what they change says when it was changed.
func operatorsEntry(c *gin.Context, caller *auth.Claims, target string, detail map[string]any) *scoreboard.AuditEntry {
	if !caller.Has(auth.ScopeOperate) {
		return nil
	}
	e := newAuditEntry(c, caller, target, "")
	e.Detail = auditDetail(detail)
	return e
}

// skipAudit marks a request that has changed nothing.
func skipAudit(c *gin.Context) { c.Set(keyAudited, true) }

// auditTrail answers what the audit trail contains.
type auditTrail struct {
	trail Trail
	slots jobSlots
	log   *slog.Logger
}

// checkAudited reports a handler of an audited route that changed something without an
// entry: each must write its own, in the transaction of the change or before it, because
// an entry that follows the change can be lost. TestEveryChangeIsAudited finds such a
// handler.
func (h *auditTrail) checkAudited(c *gin.Context, r route, caller *auth.Claims) {
	if r.audit == audited && !c.GetBool(keyAudited) && h.trail != nil {
		requestLog(h.log, c).Error("change without audit entry", "actor", caller.User, "action", r.action)
	}
}

// auditDetail encodes a value as the detail of an entry.
func auditDetail(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil { // these types always marshal
		panic(err)
	}
	return b
}

// withoutUser removes user_id from a body. The entry's target names the user, and
// an erasure anonymises it there.
func withoutUser(body []byte) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields["user_id"] == nil {
		return body
	}
	delete(fields, "user_id")
	return auditDetail(fields)
}

// queryReason is the query parameter for an operator's reason. Requests about one
// user have a required reason in the body instead.
const queryReason = "reason"

// checkReason rejects a reason that does not fit into the audit trail before
// anything is changed.
func checkReason(c *gin.Context) error {
	if reason := c.Query(queryReason); reason != "" {
		return scoreboard.CheckReason(reason)
	}
	return nil
}

const defaultAuditEntries, maxAuditEntries = 50, 500

// auditEntries is GET /v1/admin/audit.
func (h *auditTrail) auditEntries(c *gin.Context, _ *auth.Claims) error {
	f := scoreboard.AuditFilter{Actor: c.Query("who"), Action: c.Query("action"), Target: c.Query("target")}
	var err error
	if f.Limit, err = queryInt(c, "limit", defaultAuditEntries, 1, maxAuditEntries); err != nil {
		return err
	}
	if f.From, err = queryTime(c, "from"); err != nil {
		return err
	}
	if f.To, err = queryTime(c, "to"); err != nil {
		return err
	}
	if f.Before, err = queryID(c, "cursor"); err != nil {
		return err
	}
	entries, err := h.trail.AuditEntries(c.Request.Context(), f)
	if err != nil {
		return err
	}
	out := wire.AuditEntries{Entries: []wire.AuditEntry{}}
	for _, e := range entries {
		out.Entries = append(out.Entries, wire.AuditEntry{
			ID: e.ID, At: e.At, Who: string(e.Actor), Address: e.Address, UserAgent: e.Agent, RequestID: e.RequestID,
			Action: e.Action, Target: e.Target, Reason: e.Reason, Detail: e.Detail,
		})
	}
	if len(entries) == f.Limit {
		out.NextCursor = strconv.FormatInt(entries[f.Limit-1].ID, 10)
	}
	respond(c, http.StatusOK, out)
	return nil
}

// verifyAudit is GET /v1/admin/audit/verify.
func (h *auditTrail) verifyAudit(c *gin.Context, _ *auth.Claims) error {
	var known *scoreboard.AuditSeal
	if text := c.Query("head"); text != "" {
		head, err := scoreboard.ParseAuditSeal(text)
		if err != nil {
			return err
		}
		known = &head
	}
	done, err := h.slots.take(c.Request.Context(), "")
	if err != nil {
		return err
	}
	defer done()
	chain, err := h.trail.VerifyChain(c.Request.Context(), known)
	if err != nil {
		return err
	}
	out := wire.AuditChain{
		Intact: chain.Break == nil, Sealed: chain.Head.Seq, Head: chain.Head.String(), Unsealed: chain.Unsealed,
	}
	if !chain.UnsealedSince.IsZero() {
		out.Since = &chain.UnsealedSince
	}
	if b := chain.Break; b != nil {
		out.Break = &wire.AuditBreak{Seal: b.Seq, ID: b.ID, Problem: b.Problem}
	}
	respond(c, http.StatusOK, out)
	return nil
}
