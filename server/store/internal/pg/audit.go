package pg

import (
	"context"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// WriteAudit adds an entry to the audit log in the transaction of the change: both
// are written or neither. A nil entry is for changes that no operator requested.
func WriteAudit(ctx context.Context, to Querier, e *scoreboard.AuditEntry) error {
	if e == nil {
		return nil
	}
	var detail *string
	if len(e.Detail) > 0 {
		text := string(e.Detail)
		detail = &text
	}
	_, err := to.Exec(ctx, `insert into audit_log (who, address, user_agent, request_id, action, target, reason, detail)
values ($1, $2, $3, $4, $5, $6, $7, $8::text::jsonb)`,
		e.Actor, e.Address, e.Agent, e.RequestID, e.Action, e.Target, e.Reason, detail)
	return err
}
