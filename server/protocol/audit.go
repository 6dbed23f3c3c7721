package protocol

import (
	"encoding/json"
	"time"
)

// AuditEntry is one row of the audit trail.
type AuditEntry struct {
	ID        int64           `json:"id"`
	At        time.Time       `json:"at"`
	Who       string          `json:"who"`
	Address   string          `json:"address"`
	UserAgent string          `json:"user_agent"`
	RequestID string          `json:"request_id"`
	Action    string          `json:"action"`
	Target    string          `json:"target"`
	Reason    string          `json:"reason,omitempty"`
	Detail    json.RawMessage `json:"detail,omitempty"`
}

// AuditEntries is the response of GET /v1/admin/audit, newest first. NextCursor is the
// cursor of the next page.
type AuditEntries struct {
	Entries    []AuditEntry `json:"entries"`
	NextCursor string       `json:"next_cursor,omitempty"`
}
