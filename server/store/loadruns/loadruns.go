// Package loadruns stores the uploaded reports of load tests.
package loadruns

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// LoadRuns is the load_runs table.
type LoadRuns struct{ db *pg.DB }

// New returns a LoadRuns over db.
func New(db *pg.DB) *LoadRuns { return &LoadRuns{db} }

const columns = `load_run_id, uploaded_at, verdict, profile, version, began, seconds, rate, p95_ms, p99_ms`

func scan(row pgx.CollectableRow) (r scoreboard.LoadRun, err error) {
	err = row.Scan(&r.ID, &r.Uploaded, &r.Verdict, &r.Profile, &r.Version, &r.Began, &r.Seconds, &r.Rate,
		&r.P95, &r.P99)
	r.Uploaded, r.Began = r.Uploaded.UTC(), r.Began.UTC()
	return r, err
}

// Add stores a report with its entry, and deletes the oldest beyond scoreboard.MaxLoadRuns.
// It returns a conflict for a report that is stored already.
func (l *LoadRuns) Add(
	ctx context.Context, r *scoreboard.LoadRun, why *scoreboard.AuditEntry,
) (made scoreboard.LoadRun, err error) {
	digest := sha256.Sum256(r.Report)
	err = pgx.BeginFunc(ctx, l.db, func(tx pgx.Tx) error {
		// Two uploads at once could each leave one too many.
		if _, err := tx.Exec(ctx, `lock table load_runs in share row exclusive mode`); err != nil {
			return err
		}
		var known int64
		err := tx.QueryRow(ctx, `select load_run_id from load_runs where digest = $1`, digest[:]).Scan(&known)
		if err == nil {
			return scoreboard.Errorf(wire.CodeConflict, "this report is already load run %d", known)
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		rows, err := tx.Query(ctx, `insert into load_runs
    (verdict, profile, version, began, seconds, rate, p95_ms, p99_ms, digest, report)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning `+columns,
			r.Verdict, r.Profile, r.Version, r.Began, r.Seconds, r.Rate, r.P95, r.P99, digest[:], r.Report)
		if err != nil {
			return err
		}
		if made, err = pgx.CollectExactlyOneRow(rows, scan); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `delete from load_runs where load_run_id <= (
    select load_run_id from load_runs order by load_run_id desc offset $1 limit 1)`, scoreboard.MaxLoadRuns)
		if err != nil {
			return err
		}
		why.Target = target(made.ID)
		return pg.WriteAudit(ctx, tx, why)
	})
	if err != nil {
		return made, pg.Translate(fmt.Errorf("store a load run: %w", err))
	}
	return made, nil
}

func target(id int64) string { return fmt.Sprintf("load_run:%d", id) }

// List lists at most limit load runs with a verdict ("" for all) before an id (0: from the
// newest), newest first, without their reports.
func (l *LoadRuns) List(ctx context.Context, verdict string, before int64, limit int) ([]scoreboard.LoadRun, error) {
	rows, err := l.db.Query(ctx, `select `+columns+` from load_runs
where ($1 = '' or verdict = $1) and ($2 = 0 or load_run_id < $2) order by load_run_id desc limit $3`,
		verdict, before, limit)
	var all []scoreboard.LoadRun
	if err == nil {
		all, err = pgx.CollectRows(rows, scan)
	}
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the load runs: %w", err))
	}
	return all, nil
}

// Find returns a load run with its report, or a not_found.
func (l *LoadRuns) Find(ctx context.Context, id int64) (r scoreboard.LoadRun, err error) {
	rows, err := l.db.Query(ctx, `select `+columns+` from load_runs where load_run_id = $1`, id)
	if err == nil {
		r, err = pgx.CollectExactlyOneRow(rows, scan)
	}
	if err == nil {
		err = l.db.QueryRow(ctx, `select report from load_runs where load_run_id = $1`, id).Scan(&r.Report)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return r, notFound(id)
	}
	if err != nil {
		return r, pg.Translate(fmt.Errorf("read load run %d: %w", id, err))
	}
	return r, nil
}

// Delete deletes a load run with its entry, and returns it without its report; not_found
// without it.
func (l *LoadRuns) Delete(
	ctx context.Context, id int64, why *scoreboard.AuditEntry,
) (r scoreboard.LoadRun, err error) {
	err = pgx.BeginFunc(ctx, l.db, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `delete from load_runs where load_run_id = $1 returning `+columns, id)
		if err != nil {
			return err
		}
		if r, err = pgx.CollectExactlyOneRow(rows, scan); errors.Is(err, pgx.ErrNoRows) {
			return notFound(id)
		}
		if err != nil {
			return err
		}
		why.Target = target(id)
		return pg.WriteAudit(ctx, tx, why)
	})
	if err != nil {
		return r, pg.Translate(fmt.Errorf("delete load run %d: %w", id, err))
	}
	return r, nil
}

func notFound(id int64) error {
	return scoreboard.Errorf(wire.CodeNotFound, "load run %d not found", id)
}
