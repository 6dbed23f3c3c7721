package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// AuditEntry is one row of the audit trail.
type AuditEntry = protocol.AuditEntry

// AuditEntries is a page of the audit trail.
type AuditEntries = protocol.AuditEntries

// AuditQuery filters entries; an empty field matches all.
type AuditQuery struct {
	Who, Action, Target string
	From, To            time.Time
	Cursor              string // of the page before
	Limit               int    // 50 when 0
}

// Audit lists the audit trail, newest first. It needs the scope score:admin.
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
