package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
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
	setQuery(v, "who", q.Who)
	setQuery(v, "action", q.Action)
	setQuery(v, "target", q.Target)
	setQuery(v, "cursor", q.Cursor)
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	setQueryTime(v, "from", q.From)
	setQueryTime(v, "to", q.To)
	var page AuditEntries
	err := c.do(ctx, call{op: "read the audit trail", method: http.MethodGet, path: "/v1/admin/audit", query: v}, &page)
	return page, err
}

func setQuery(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}

func setQueryTime(v url.Values, name string, t time.Time) {
	if !t.IsZero() {
		v.Set(name, t.UTC().Format(time.RFC3339Nano))
	}
}
