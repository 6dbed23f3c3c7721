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

// AuditChain is the response of GET /v1/admin/audit/verify.
type AuditChain struct {
	Intact   bool        `json:"intact"`
	Sealed   int64       `json:"sealed"`   // rows in the chain, up to the break
	Head     string      `json:"head"`     // the last seal: its number and hash, "12:9f86…"
	Unsealed int64       `json:"unsealed"` // rows that wait for their seal
	Since    *time.Time  `json:"unsealed_since,omitempty"`
	Break    *AuditBreak `json:"break,omitempty"`
}

// AuditBreak is the first place where the trail is not what was sealed.
type AuditBreak struct {
	Seal    int64  `json:"seal,omitempty"` // the place in the chain; absent for a row that is not in it
	ID      int64  `json:"id,omitempty"`   // of the audit entry; absent if it is not known
	Problem string `json:"problem"`
}

// AuditEntries is the response of GET /v1/admin/audit, newest first. NextCursor is the
// cursor of the next page.
type AuditEntries struct {
	Entries    []AuditEntry `json:"entries"`
	NextCursor string       `json:"next_cursor,omitempty"`
}
