package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// executor is the pool or a transaction.
type executor interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// writeAudit adds an entry to the trail: in the transaction of the change that
// it tells of, so that neither is without the other. It is nil where no operator
// has asked for the change.
func writeAudit(ctx context.Context, to executor, e *scoreboard.AuditEntry) error {
	if e == nil {
		return nil
	}
	var detail *string // a null where there is nothing to say
	if len(e.Detail) > 0 {
		text := string(e.Detail)
		detail = &text
	}
	_, err := to.Exec(ctx, `insert into audit_log (who, address, user_agent, request_id, action, target, reason, detail)
values ($1, $2, $3, $4, $5, $6, $7, $8::text::jsonb)`, e.Who, e.Address, e.Agent, e.RequestID, e.Action, e.Target, e.Reason, detail)
	return err
}

// Audited adds an entry of its own to the trail, for a change that is not made
// in the store.
func (s *Store) Audited(ctx context.Context, e *scoreboard.AuditEntry) error {
	if err := writeAudit(ctx, s.pool, e); err != nil {
		return translate(fmt.Errorf("audit %s of %s: %w", e.Action, e.Target, err))
	}
	return nil
}

// An empty filter picks all.
const sqlAuditEntries = `select id, at, who, address, user_agent, request_id, action, target, reason, detail::text
from audit_log
where ($1 = '' or who = $1) and ($2 = '' or action = $2) and ($3 = '' or target = $3)
  and ($4::timestamptz is null or at >= $4) and ($5::timestamptz is null or at < $5) and ($6 = 0 or id < $6)
order by id desc limit $7`

// AuditEntries lists the trail, the newest first.
func (s *Store) AuditEntries(ctx context.Context, f scoreboard.AuditFilter) ([]scoreboard.AuditEntry, error) {
	rows, err := s.pool.Query(ctx, sqlAuditEntries, f.Who, f.Action, f.Target, timeOrNull(f.From), timeOrNull(f.To), f.Before, f.Limit)
	if err != nil {
		return nil, translate(fmt.Errorf("read the audit trail: %w", err))
	}
	entries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e scoreboard.AuditEntry, err error) {
		var detail *string
		err = row.Scan(&e.ID, &e.At, &e.Who, &e.Address, &e.Agent, &e.RequestID, &e.Action, &e.Target, &e.Reason, &detail)
		if detail != nil {
			e.Detail = json.RawMessage(*detail)
		}
		e.At = e.At.UTC()
		return e, err
	})
	if err != nil {
		return nil, translate(fmt.Errorf("read the audit trail: %w", err))
	}
	return entries, nil
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
