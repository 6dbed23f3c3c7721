package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Trail is the audit trail.
type Trail interface {
	Audited(ctx context.Context, e *scoreboard.AuditEntry) error
	AuditEntries(ctx context.Context, f scoreboard.AuditFilter) ([]scoreboard.AuditEntry, error)
}

// Keys of a request's context.
const (
	keyBody    = "admin_body"    // what decode has read, for the trail
	keyTarget  = "admin_target"  // what the request changes
	keyAudited = "admin_audited" // there is an entry already, or nothing to tell
)

// actions are the names that the trail has for what routes do.
var actions = map[string]string{
	"POST /v1/boards": "board.create", "PATCH /v1/boards/:board": "board.set",
	"POST /v1/boards/roll": "board.roll", "POST /v1/boards/:board/roll": "board.roll",
	"POST /v1/boards/:board/freeze": "board.freeze", "POST /v1/boards/:board/unfreeze": "board.unfreeze", "POST /v1/boards/:board/archive": "board.archive",
	"POST /v1/admin/keys": "key.create", "POST /v1/admin/keys/:key_id/rotate": "key.rotate", "DELETE /v1/admin/keys/:key_id": "key.revoke",
	"POST /v1/admin/users/:user_id/ban": "user.ban", "POST /v1/admin/users/:user_id/unban": "user.unban",
	"POST /v1/admin/users/:user_id/freeze": "user.freeze", "POST /v1/admin/users/:user_id/unfreeze": "user.unfreeze",
	"POST /v1/admin/users/:user_id/adjust": "user.adjust", "GET /v1/admin/users/:user_id/export": "user.export", "POST /v1/admin/users/:user_id/erase": "user.erase",
	"POST /v1/admin/events/:event_id/reverse": "event.reverse", "POST /v1/admin/voids": "void.create", "POST /v1/admin/voids/:id/undo": "void.undo",
	"POST /v1/admin/flags/:id/dismiss": "flag.dismiss", "POST /v1/admin/flags/:id/confirm": "flag.confirm",
	"PUT /v1/admin/settings": "setting.set", "PUT /v1/admin/settings/:name": "setting.set",
	"PUT /v1/admin/knobs": "setting.set", "PUT /v1/admin/knobs/:name": "setting.set",
	"POST /v1/admin/tokens": "token.mint",
	"PUT /v1/users/:user_id/profile":          "user.profile", // of another
	"POST /v1/admin/dead-letters/:id/requeue": "letter.requeue", "DELETE /v1/admin/dead-letters/:id": "letter.drop",
	"POST " + pathRebuild: "ranking.rebuild", "POST /v1/admin/reconcile": "ranking.reconcile",
	"POST /v1/admin/replay": "ranking.replay", "POST /v1/admin/ledger/archive": "ledger.archive",
}

// maxAuditDetail is how much of a body the trail keeps.
const maxAuditDetail = maxBody

// audits says whether a route's success is an entry of the trail: whatever an
// operator changes is, so a route that is added later needs no thought.
func (r route) audits() bool {
	return r.scope == auth.ScopeAdmin && r.method != http.MethodGet && r.path != pathVerify
}

// entry begins an entry that the handler has written in the transaction of the
// change itself.
func entry(c *gin.Context, who *auth.Claims, target, reason string) *scoreboard.AuditEntry {
	c.Set(keyAudited, true)
	return &scoreboard.AuditEntry{
		Who: who.User, Address: address(c.Request), Agent: cut(c.Request.UserAgent(), maxAgent), RequestID: c.GetString(keyRequestID),
		Action: actions[c.Request.Method+" "+c.FullPath()], Target: target, Reason: reason,
	}
}

// told is entry with the reason of the query and, for a detail, the body.
func told(c *gin.Context, who *auth.Claims, target string) *scoreboard.AuditEntry {
	e := entry(c, who, target, c.Query(queryReason))
	if body, ok := c.Get(keyBody); ok && json.Valid(body.([]byte)) && len(body.([]byte)) <= maxAuditDetail {
		e.Detail = withoutUser(body.([]byte))
	}
	return e
}

// about says what a request changes, for the entry that is written when it has.
func about(c *gin.Context, kind, name string) { c.Set(keyTarget, kind+":"+name) }

// unchanged says that a request has changed nothing: there is nothing to tell.
func unchanged(c *gin.Context) { c.Set(keyAudited, true) }

// auditTries and auditBudget bound how long a change that is done waits for its
// entry.
const (
	auditTries  = 3
	auditBudget = 2 * time.Second
)

// audit adds the entry of a request that has succeeded and has not written one
// itself. The change is done: where the trail cannot be reached, the log has
// the entry.
func (a *API) audit(c *gin.Context, r route, who *auth.Claims) {
	if !r.audits() || c.GetBool(keyAudited) || a.Trail == nil {
		return
	}
	e := told(c, who, c.GetString(keyTarget))
	e.Action = actions[r.method+" "+r.path]
	var err error
	for range auditTries {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), auditBudget)
		err = a.Trail.Audited(ctx, e)
		cancel()
		if err == nil {
			return
		}
	}
	a.Log.Error("audit entry not kept", "who", e.Who, "address", e.Address, "request_id", e.RequestID, "action", e.Action,
		"target", e.Target, "reason", e.Reason, "err", err)
}

// withoutUser is a body without the user that it names: the target has that
// name, and from there it goes when the user is erased. The trail keeps the rest
// as it was.
func withoutUser(body []byte) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields["user_id"] == nil {
		return body
	}
	delete(fields, "user_id")
	return detail(fields)
}

// queryReason is where operators say why: of what is about a person the body
// has the reason, and wants one.
const queryReason = "reason"

// checkReason refuses a reason that does not fit into the trail, before
// anything is changed for it.
func checkReason(c *gin.Context) error {
	if reason := c.Query(queryReason); reason != "" {
		return scoreboard.CheckReason(reason)
	}
	return nil
}

const defaultEntries, maxEntries = 50, 500

// auditEntries is GET /v1/admin/audit.
func (a *API) auditEntries(c *gin.Context, _ *auth.Claims) error {
	f := scoreboard.AuditFilter{Who: c.Query("who"), Action: c.Query("action"), Target: c.Query("target")}
	var err error
	if f.Limit, err = queryInt(c, "limit", defaultEntries, 1, maxEntries); err != nil {
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
	entries, err := a.Trail.AuditEntries(c.Request.Context(), f)
	if err != nil {
		return err
	}
	out := protocol.AuditEntries{Entries: []protocol.AuditEntry{}}
	for _, e := range entries {
		out.Entries = append(out.Entries, protocol.AuditEntry{
			ID: e.ID, At: e.At, Who: string(e.Who), Address: e.Address, UserAgent: e.Agent, RequestID: e.RequestID,
			Action: e.Action, Target: e.Target, Reason: e.Reason, Detail: e.Detail,
		})
	}
	if len(entries) == f.Limit {
		out.NextCursor = strconv.FormatInt(entries[f.Limit-1].ID, 10)
	}
	respond(c, http.StatusOK, out)
	return nil
}

// queryTime reads an RFC 3339 time of the query, zero when there is none.
func queryTime(c *gin.Context, name string) (time.Time, error) {
	text, given := c.GetQuery(name)
	if !given {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, scoreboard.Invalid(name, "%s must be an RFC 3339 time", name)
	}
	return t, nil
}

// queryID reads an id of the query, 0 when there is none.
func queryID(c *gin.Context, name string) (int64, error) {
	text, given := c.GetQuery(name)
	if !given {
		return 0, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, scoreboard.Invalid(name, "%s is not one of ours", name)
	}
	return id, nil
}
