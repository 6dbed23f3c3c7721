package main

import (
	"context"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// The numbers of users and events at scale 1.
const (
	pipelineUsers  = 1_000_000
	pipelineEvents = 1_000_000
)

type pipelineSize struct{ users, events int64 }

// pipelineBench writes changes directly to the outbox of an installation, and rebuilds its ranking.
type pipelineBench struct{ *rig }

// Pipeline measures what happens after a commit.
func Pipeline(ctx context.Context, o Options) error {
	if o.Scale <= 0 || o.Scale > 1 {
		return fmt.Errorf("the scale must be above 0 and at most 1, not %v", o.Scale)
	}
	if o.Quick {
		o.Scale = 0.001
	}
	size := pipelineSize{int64(pipelineUsers * o.Scale), int64(pipelineEvents * o.Scale)}
	o.printf("%d users with two ledger rows each, %d events\n\n", size.users, size.events)
	// Events written directly to the outbox have no score in the database, which
	// must not be repaired.
	on, err := newRig(ctx, o, "SCOREBOARD_RECONCILE_REPAIR=false")
	if err != nil {
		return err
	}
	defer on.stop()
	r := pipelineBench{on}
	r.stopDaemon()
	if err := r.seed(ctx, size.users); err != nil {
		return err
	}
	for _, part := range []func(context.Context, pipelineSize) error{
		r.rebuildUnderReads, r.verifyLedger, r.redisMemory, r.projectBacklogs, r.replay, r.projectionLag,
		r.drainUnderLoad,
	} {
		if err := part(ctx, size); err != nil {
			return err
		}
	}
	return nil
}

// seed writes users with a score and its two events.
func (r *rig) seed(ctx context.Context, n int64) error {
	started := time.Now()
	for _, sql := range []string{
		`insert into users (user_id) select 'bench-' || i from generate_series(1, $1::bigint) i`,
		`insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at)
select 'bench-' || i, 'global', i * 7919 % 1000000 + 2, -(i * 7919 % 1000000 + 2), 2, 2, now(), now()
from generate_series(1, $1::bigint) i`,
		`insert into user_score_histories (user_id, board_id, event_id, payload_hash, delta, applied,
    previous_score, new_score,
    version, recorded_at, source)
select 'bench-' || i, 'global', gen_random_uuid(), '\x00', 1, case v when 1 then b + 1 else 1 end,
    case v when 1 then 0 else b + 1 end, b + v, v, now(), 'admin'
from generate_series(1, $1::bigint) i cross join generate_series(1, 2) v
cross join lateral (select i * 7919 % 1000000 as b) as base`,
	} {
		if err := r.exec(ctx, sql, n); err != nil {
			return err
		}
	}
	r.printf("- seeded in %s\n", time.Since(started).Round(time.Second))
	return nil
}

// fillOutbox writes events directly to the outbox, with newer revisions than those
// of earlier calls.
func (r pipelineBench) fillOutbox(ctx context.Context, size pipelineSize) error {
	r.round++
	return r.exec(ctx, `insert into outbox_score_updates
    (shard, event_id, user_id, board_id, score, delta, order_key, version, revision, reached_at, recorded_at)
select 0, gen_random_uuid(), 'bench-' || (1 + i * 7919 % $1::bigint), 'global', s, 1, -s, r, r,
    clock_timestamp(), clock_timestamp()
from generate_series(0, $2::bigint - 1) i
cross join lateral (select i % 1000000 + 1000 as s, $3::bigint * 1000 + i / $1::bigint as r) as made`,
		size.users, size.events, r.round)
}

// startComplete starts a daemon with all roles and waits until the board is
// healthy.
func (r *rig) startComplete(ctx context.Context, size pipelineSize) (*client.Client, error) {
	if err := r.startDaemon(ctx, []string{"SCOREBOARD_RECONCILE_REPAIR=false"}); err != nil {
		return nil, err
	}
	if err := r.createCredentials(ctx); err != nil {
		return nil, err
	}
	c, err := r.newClient()
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		k, err := c.RankingStatus(ctx, "global")
		if err == nil && k.Members >= size.users && k.State == "HEALTHY" {
			return c, nil
		}
		if time.Now().After(deadline) {
			c.Close()
			return nil, fmt.Errorf("the board is not healthy after five minutes: %+v, %w", k, err)
		}
	}
}
