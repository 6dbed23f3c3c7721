package main

import (
	"context"
	"fmt"
	"time"
)

// grownBench fills the ledger of an installation.
type grownBench struct{ *rig }

// Grown compares the rate on a small ledger with that on one of ten million rows,
// all written through the server and without a manual ANALYZE. It also reports the
// memory of the daemon and dead rows.
func Grown(ctx context.Context, o Options) error {
	on, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer on.stop()
	r := grownBench{on}
	if err := r.warmByPosts(ctx); err != nil {
		return err
	}
	small, err := r.rate(ctx)
	if err != nil {
		return err
	}
	for _, table := range []string{"outbox_score_updates%", "scores", "users"} {
		dead, err := r.queryInt(ctx,
			`select coalesce(sum(n_dead_tup), 0)::bigint from pg_stat_user_tables where relname like '`+table+`'`)
		if err != nil {
			return err
		}
		r.printf("- dead rows of %s: %d\n", table, dead)
	}
	if err := r.fillLedger(ctx); err != nil {
		return err
	}
	large, err := r.rate(ctx)
	if err != nil {
		return err
	}
	r.printf("- rate on the large ledger relative to the small one: %.2f\n", large/small)
	return nil
}

// rate measures increments per second at 256 connections. It takes the better of
// two runs, to exclude checkpoints caused by the fill.
func (r grownBench) rate(ctx context.Context) (best float64, err error) {
	for range 2 {
		w, err := r.post(ctx, 256, r.timed)
		if err != nil {
			return 0, err
		}
		if _, err := r.drain(ctx); err != nil {
			return 0, err
		}
		best = max(best, float64(w.requests)/w.took.Seconds())
	}
	rows, err := r.queryInt(ctx, `select count(*) from user_score_histories`)
	if err != nil {
		return 0, err
	}
	r.printf("- %.0f increments/s at %d ledger rows, daemon %d MiB\n",
		best, rows, residentOf(r.daemon.Process.Pid))
	return best, nil
}

// fillLedger sends batches until the ledger has its size, and reports the memory of
// the daemon after each step.
func (r grownBench) fillLedger(ctx context.Context) error {
	started := time.Now()
	var rows int64
	for rows < r.ledgerRows {
		report, err := r.load(ctx, r.fillRate, r.fill, "--mode", "batch", "--batch", "500")
		if err != nil {
			return err
		}
		if _, err := r.drain(ctx); err != nil {
			return err
		}
		before := rows
		if rows, err = r.queryInt(ctx, `select count(*) from user_score_histories`); err != nil {
			return err
		}
		r.printf("- %d ledger rows after %s, in batches at %.0f/s, daemon %d MiB\n",
			rows, time.Since(started).Round(time.Second), report.Rate, residentOf(r.daemon.Process.Pid))
		if rows == before {
			return fmt.Errorf("the ledger does not grow beyond %d rows", rows)
		}
	}
	return nil
}
