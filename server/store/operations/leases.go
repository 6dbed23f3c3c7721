package operations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Leases stores the holders of leases.
type Leases struct{ db *pg.DB }

// NewLeases returns the leases in db.
func NewLeases(db *pg.DB) *Leases { return &Leases{db} }

// TakeLease takes or renews a lease for owner; false if another owner holds it. A
// lease that ends much later than a new one would was taken before the clock went
// back, and is free.
func (s *Leases) TakeLease(ctx context.Context, name, owner string, ttl time.Duration) (mine bool, err error) {
	err = s.db.QueryRow(ctx, `insert into leases (name, owner, until) values ($1, $2, clock_timestamp() + $3::interval)
on conflict (name) do update set owner = excluded.owner, until = excluded.until
where leases.owner = excluded.owner
    or leases.until not between clock_timestamp() and clock_timestamp() + 10 * $3::interval
returning true`, name, owner, ttl).Scan(&mine)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, pg.Translate(fmt.Errorf("acquire lease %s: %w", name, err))
	}
	return mine, nil
}

// ReleaseLease releases a lease early.
func (s *Leases) ReleaseLease(ctx context.Context, name, owner string) error {
	if _, err := s.db.Exec(ctx, `delete from leases where name = $1 and owner = $2`, name, owner); err != nil {
		return pg.Translate(fmt.Errorf("release lease %s: %w", name, err))
	}
	return nil
}

// SinceRun returns how long ago the last completed run of a job began, on any process; false if
// there was none. One that began later than now was stored before the clock went back.
func (s *Leases) SinceRun(ctx context.Context, name string) (ago time.Duration, ran bool, err error) {
	err = s.db.QueryRow(ctx,
		`select clock_timestamp() - started_at from job_runs where name = $1 and started_at <= clock_timestamp()`, name,
	).Scan(&ago)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, pg.Translate(fmt.Errorf("read the last run of job %s: %w", name, err))
	}
	return ago, true, nil
}

// RecordRun stores that a run of a job, which has taken so long, is complete.
func (s *Leases) RecordRun(ctx context.Context, name string, took time.Duration) error {
	_, err := s.db.Exec(ctx, `insert into job_runs (name, started_at) values ($1, clock_timestamp() - $2::interval)
on conflict (name) do update set started_at = excluded.started_at`, name, took)
	if err != nil {
		return pg.Translate(fmt.Errorf("store the run of job %s: %w", name, err))
	}
	return nil
}
