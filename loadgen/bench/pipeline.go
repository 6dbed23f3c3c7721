package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// The sizes of the pipeline's benchmarks at scale 1, and the rates of writes
// beside it.
const (
	manyUsers   = 1_000_000
	manyEvents  = 1_000_000
	lagRate     = 5000
	backlogRate = 4000
	besideTime  = 20 * time.Second
)

// size is what one run measures with.
type size struct{ users, events int64 }

// benchPipeline measures what happens behind a commit.
func benchPipeline(ctx context.Context) error {
	scale := 1.0
	if text := os.Getenv("BENCH_SCALE"); text != "" {
		var err error
		if scale, err = strconv.ParseFloat(text, 64); err != nil || scale <= 0 || scale > 1 {
			return fmt.Errorf("BENCH_SCALE must be above 0 and at most 1, not %q", text)
		}
	}
	of := size{int64(manyUsers * scale), int64(manyEvents * scale)}
	fmt.Printf("%d users with two ledger rows each, %d events\n\n", of.users, of.events)
	// What is put into the outbox by hand has no score in the database: nobody
	// is to put that right.
	r, err := newRig(ctx, "SCOREBOARD_RECONCILE_REPAIR=false")
	if err != nil {
		return err
	}
	defer r.stop()
	r.stopDaemon()
	if err := r.seed(ctx, of.users); err != nil {
		return err
	}
	for _, part := range []func(context.Context, size) error{
		r.benchRebuild, r.benchVerify, r.benchBytes, r.benchAlone, r.benchReplay, r.benchLag, r.benchBacklog,
	} {
		if err := part(ctx, of); err != nil {
			return err
		}
	}
	return nil
}

// seed writes users with a score and the two events that it is made of.
func (r *rig) seed(ctx context.Context, n int64) error {
	started := time.Now()
	for _, sql := range []string{
		`insert into users (user_id) select 'bench-' || i from generate_series(1, $1::bigint) i`,
		`insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at)
select 'bench-' || i, 'global', i * 7919 % 1000000 + 2, -(i * 7919 % 1000000 + 2), 2, 2, now(), now() from generate_series(1, $1::bigint) i`,
		`insert into user_score_histories (user_id, board_id, event_id, payload_hash, delta, applied, previous_score, new_score,
    version, recorded_at, source)
select 'bench-' || i, 'global', gen_random_uuid(), '\x00', 1, case v when 1 then b + 1 else 1 end, case v when 1 then 0 else b + 1 end, b + v,
    v, now(), 'admin'
from generate_series(1, $1::bigint) i cross join generate_series(1, 2) v cross join lateral (select i * 7919 % 1000000 as b) as base`,
	} {
		if err := r.exec(ctx, sql, n); err != nil {
			return err
		}
	}
	fmt.Printf("- seeded in %s\n", time.Since(started).Round(time.Second))
	return nil
}

// revision of the events that are put into the outbox: each round is newer.
func (r *rig) fillOutbox(ctx context.Context, of size) error {
	r.round++
	return r.exec(ctx, `insert into outbox_score_updates
    (shard, event_id, user_id, board_id, score, delta, order_key, version, revision, reached_at, recorded_at)
select 0, gen_random_uuid(), 'bench-' || (1 + i * 7919 % $1::bigint), 'global', s, 1, -s, r, r, clock_timestamp(), clock_timestamp()
from generate_series(0, $2::bigint - 1) i
cross join lateral (select i % 1000000 + 1000 as s, $3::bigint * 1000 + i / $1::bigint as r) as made`, of.users, of.events, r.round)
}

// all starts a daemon with every role and waits until the board is held.
func (r *rig) all(ctx context.Context, of size) (*client.Client, error) {
	if err := r.startDaemon(ctx, []string{"SCOREBOARD_RECONCILE_REPAIR=false"}); err != nil {
		return nil, err
	}
	if err := r.enter(ctx); err != nil {
		return nil, err
	}
	c, err := client.New(r.api, client.Options{Token: r.token, KeyID: r.key.KeyID, KeySecret: r.key.Secret})
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		k, err := c.Condition(ctx, "global")
		if err == nil && k.Members >= of.users && k.State == "HEALTHY" {
			return c, nil
		}
		if time.Now().After(deadline) {
			c.Close()
			return nil, fmt.Errorf("the board is not healthy after five minutes: %+v, %w", k, err)
		}
	}
}
