package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// AuditEntry is one row of the audit trail.
type AuditEntry = wire.AuditEntry

// AuditEntries is a page of the audit trail.
type AuditEntries = wire.AuditEntries

// AuditQuery filters entries; an empty field matches all.
type AuditQuery struct {
	Who, Action, Target string
	From, To            time.Time
	Cursor              string // of the page before
	Limit               int    // 50 when 0
}

// Audit lists the audit trail, newest first. It needs the scope score:operate.
func (c *Client) Audit(ctx context.Context, q AuditQuery) (AuditEntries, error) {
	v := url.Values{}
	setText(v, "who", q.Who)
	setText(v, "action", q.Action)
	setText(v, "target", q.Target)
	setText(v, "cursor", q.Cursor)
	setInt(v, "limit", int64(q.Limit))
	setTime(v, "from", q.From)
	setTime(v, "to", q.To)
	var page AuditEntries
	err := c.do(ctx, call{op: "read the audit trail", method: http.MethodGet, path: "/v1/admin/audit", query: v}, &page)
	return page, err
}

// AuditEntry reads one entry. The error is not_found if it does not exist. It needs the
// scope score:operate.
func (c *Client) AuditEntry(ctx context.Context, id int64) (AuditEntry, error) {
	page, err := c.Audit(ctx, AuditQuery{Cursor: strconv.FormatInt(id+1, 10), Limit: 1})
	if err != nil {
		return AuditEntry{}, err
	}
	if len(page.Entries) == 0 || page.Entries[0].ID != id {
		return AuditEntry{}, &Error{
			Op: fmt.Sprintf("read audit entry %d", id), Status: http.StatusNotFound, Attempts: 1,
			Code: wire.CodeNotFound, Message: fmt.Sprintf("no audit entry %d", id),
		}
	}
	return page.Entries[0], nil
}

// AuditChain is the result of VerifyAudit.
type AuditChain = wire.AuditChain

// AuditBreak is the first place where the audit trail is not what was sealed.
type AuditBreak = wire.AuditBreak

// VerifyAudit verifies the hashes over the whole audit trail. A head from a server's log
// or an earlier result must be in the chain; "" compares with none. It needs the scope
// score:operate.
func (c *Client) VerifyAudit(ctx context.Context, head string) (AuditChain, error) {
	v := url.Values{}
	setText(v, "head", head)
	var chain AuditChain
	err := c.do(ctx, call{
		op: "verify the audit trail", method: http.MethodGet, path: "/v1/admin/audit/verify", query: v,
	}, &chain)
	return chain, err
}
