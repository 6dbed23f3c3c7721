package operations

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// AuditLog is the audit log.
type AuditLog struct{ db *pg.DB }

// NewAuditLog returns a Log over db.
func NewAuditLog(db *pg.DB) *AuditLog { return &AuditLog{db} }

// Add adds an entry for a change that is not made in the store.
func (a *AuditLog) Add(ctx context.Context, e *scoreboard.AuditEntry) error {
	if err := pg.WriteAudit(ctx, a.db, e); err != nil {
		return pg.Translate(fmt.Errorf("audit %s of %s: %w", e.Action, e.Target, err))
	}
	return nil
}

// An empty filter matches everything.
const sqlAuditEntries = `select id, at, who, address, user_agent, request_id, action, target, reason, detail::text
from audit_log
where ($1 = '' or who = $1) and ($2 = '' or action = $2) and ($3 = '' or target = $3)
  and ($4::timestamptz is null or at >= $4) and ($5::timestamptz is null or at < $5) and ($6::bigint = 0 or id < $6)
order by id desc limit $7`

// AuditEntries lists entries, newest first.
func (a *AuditLog) AuditEntries(ctx context.Context, f scoreboard.AuditFilter) ([]scoreboard.AuditEntry, error) {
	rows, err := a.db.Query(
		ctx,
		sqlAuditEntries,
		f.Actor,
		f.Action,
		f.Target,
		pg.TimeOrNull(f.From),
		pg.TimeOrNull(f.To),
		f.Before,
		f.Limit,
	)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the audit trail: %w", err))
	}
	entries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e scoreboard.AuditEntry, err error) {
		var detail *string
		err = row.Scan(
			&e.ID,
			&e.At,
			&e.Actor,
			&e.Address,
			&e.Agent,
			&e.RequestID,
			&e.Action,
			&e.Target,
			&e.Reason,
			&detail,
		)
		if detail != nil {
			e.Detail = json.RawMessage(*detail)
		}
		e.At = e.At.UTC()
		return e, err
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("read the audit trail: %w", err))
	}
	return entries, nil
}
