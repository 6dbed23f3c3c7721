package main

import (
	"context"
	"fmt"
	"time"
)

// The sizes that are compared.
const (
	oldRows  = 10_000_000
	fillRate = 20_000
	fillStep = 50 * time.Second
)

// benchGrown compares the rate on a small ledger with that on one of ten
// million rows, all of them written through the server, without an ANALYZE by
// hand; what the daemon holds meanwhile; and what autovacuum has left.
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
	if err := r.fill(ctx); err != nil {
		return err
	}
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

// fill plays batches until the ledger has the rows, and says after every
// million what the daemon holds.
func (r *rig) fill(ctx context.Context) error {
	started := time.Now()
	var rows int64
	for rows < oldRows {
		report, err := r.open(ctx, fillRate, fillStep, "--mode", "batch", "--batch", "500")
		if err != nil {
			return err
		}
		if _, err := r.drain(ctx); err != nil {
			return err
		}
		was := rows
		if rows, err = r.sql(ctx, `select count(*) from user_score_histories`); err != nil {
			return err
		}
		fmt.Printf("- %d ledger rows after %s, in batches at %.0f/s, daemon %d MiB\n",
			rows, time.Since(started).Round(time.Second), report.Rate, residentOf(r.daemon.Process.Pid))
		if rows == was {
			return fmt.Errorf("the ledger stays at %d rows", rows)
		}
	}
	return nil
}
