package main

import (
	"context"
	"fmt"
	"time"
)

// The sizes that are compared.
const (
	oldRows  = 10_000_000
	oldUsers = 10_000
)

// benchGrown compares the rate on a small ledger with that on one of ten
// million rows, without an ANALYZE by hand, and counts what autovacuum has
// left.
func benchGrown(ctx context.Context) error {
	r, err := newRig(ctx)
	if err != nil {
		return err
	}
	defer r.stop()
	if _, err := r.load(ctx, 64, warmTime); err != nil {
		return err
	}
	small, err := r.rate(ctx)
	if err != nil {
		return err
	}
	for _, table := range []string{"outbox_score_updates%", "scores", "users"} {
		dead, err := r.sql(ctx, `select coalesce(sum(n_dead_tup), 0)::bigint from pg_stat_user_tables where relname like '`+table+`'`)
		if err != nil {
			return err
		}
		fmt.Printf("- dead rows of %s: %d\n", table, dead)
	}
	started := time.Now()
	if _, err := r.sql(ctx, fillLedger); err != nil {
		return err
	}
	fmt.Printf("- %d rows written into the ledger by hand in %s\n", oldRows, time.Since(started).Round(time.Second))
	large, err := r.rate(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("- the rate then is %.2f of the one before\n", large/small)
	return nil
}

// rate measures increments a second at 256 connections, of the better of two
// runs: what a checkpoint of the fill costs is not the question.
func (r *rig) rate(ctx context.Context) (best float64, err error) {
	for range 2 {
		w, err := r.load(ctx, 256, timedTime)
		if err != nil {
			return 0, err
		}
		if _, err := r.drain(ctx); err != nil {
			return 0, err
		}
		best = max(best, float64(w.requests)/w.took.Seconds())
	}
	rows, err := r.sql(ctx, `select count(*) from user_score_histories`)
	if err != nil {
		return 0, err
	}
	fmt.Printf("- %.0f increments/s at %d ledger rows, daemon %d MiB\n", best, rows, residentOf(r.daemon.Process.Pid))
	return best, nil
}

// fillLedger writes old events of the users under load into this month, and
// says how many: what the write path looks through grows, the scores stay.
var fillLedger = fmt.Sprintf(`with made as (
    insert into user_score_histories (user_id, board_id, event_id, payload_hash, delta, applied, previous_score, new_score,
        version, recorded_at, source)
    select 'user-' || n %% %d, 'global', gen_random_uuid(), '\x00', 1, 1, 0, 1, 1, clock_timestamp(), 'admin'
    from generate_series(1, %d) n returning 1)
select count(*) from made`, oldUsers, oldRows)
