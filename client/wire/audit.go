package wire

import (
	"encoding/json"
	"time"
)

// AuditEntry is one row of the audit trail.
type AuditEntry struct {
	ID        int64           `json:"id"`         // number of the entry
	At        time.Time       `json:"at"`         // time of the change
	Who       string          `json:"who"`        // user who made the change
	Address   string          `json:"address"`    // address of the client
	UserAgent string          `json:"user_agent"` // user agent of the client
	RequestID string          `json:"request_id"` // id of the request, as in the response header X-Request-Id
	Action    string          `json:"action"`     // what was changed, such as user.ban
	Target    string          `json:"target"`     // what it was changed on, such as user:alice or board:daily
	Reason    string          `json:"reason,omitempty"`
	Detail    json.RawMessage `json:"detail,omitempty"` // the change itself; its fields depend on the action
}

// AuditChain is the response of GET /v1/admin/audit/verify.
type AuditChain struct {
	Intact   bool       `json:"intact"`                   // true if the trail is what was sealed
	Sealed   int64      `json:"sealed"`                   // rows in the chain, up to the break
	Head     string     `json:"head"`                     // the last seal: its number and hash, "12:9f86…"
	Unsealed int64      `json:"unsealed"`                 // rows that wait for their seal
	Since    *time.Time `json:"unsealed_since,omitempty"` // time of the oldest row that waits for its seal
	// The first place where the trail is not what was sealed; absent if it is intact.
	Break *AuditBreak `json:"break,omitempty"`
}

// AuditBreak is the first place where the trail is not what was sealed.
type AuditBreak struct {
	Seal    int64  `json:"seal,omitempty"` // the place in the chain; absent for a row that is not in it
	ID      int64  `json:"id,omitempty"`   // number of the audit entry; absent if it is not known
	Problem string `json:"problem"`        // what is wrong there, in words
}

// AuditEntries is the response of GET /v1/admin/audit, newest first. NextCursor is the
// cursor of the next page.
type AuditEntries struct {
	Entries    []AuditEntry `json:"entries"` // the entries of the page, newest first
	NextCursor string       `json:"next_cursor,omitempty"`
}
