package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// The past of the board, at scale 1.
const (
	pastUsers  = 1_000_000
	pastEvents = 200_000 // between two checkpoints
	pastSpans  = 5       // checkpoints, each followed by events
	pastSpan   = 29 * 24 * time.Hour
	pastReads  = 200 // of each kind
)

// PastBoards measures reads of a board at random times of the last 30 days, alone and beside
// writes; the cost of a checkpoint for writes; and a what-if over the events.
func PastBoards(ctx context.Context, o Options) error {
	if o.Quick {
		o.Scale = 0.002
	}
	if o.Scale <= 0 || o.Scale > 1 {
		return errors.New("--scale must be above 0 and at most 1")
	}
	r, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer r.stop()
	s, err := store.Open(ctx, store.Options{
		URL: r.database, MaxConns: 4, LockWait: 100 * time.Millisecond, Timeout: time.Minute, Shards: 1,
	})
	if err != nil {
		return err
	}
	defer s.Close()
	p := &pastBoard{
		rig: r, store: s, users: int(o.Scale * pastUsers), events: int(o.Scale * pastEvents),
		begin: time.Now().Add(-pastSpan).UTC().Truncate(time.Second),
	}
	r.printf("%d users, %d events after each of %d checkpoints\n\n", p.users, p.events, pastSpans)
	for _, part := range []func(context.Context) error{p.fill, p.reads, p.cost, p.whatIf} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pastBoard is the board global with a past.
type pastBoard struct {
	*rig
	store         *store.Store
	users, events int
	begin         time.Time
}

// at is the time of event number i.
func (p *pastBoard) at(i int) time.Time {
	return p.begin.Add(time.Duration(float64(pastSpan) * float64(i) / float64(pastSpans*p.events)))
}

const (
	sqlPastUsers = `with added as (
    insert into users (user_id) select 'user-' || u from generate_series(0, $1::int - 1) u
), recorded as (
    insert into user_score_histories (user_id, board_id, event_id, payload_hash, delta, applied, previous_score,
        new_score, version, recorded_at, source)
    select 'user-' || u, 'global', gen_random_uuid(), sha256('x'), 1, s, 0, s, 1, $2, 'api'
    from generate_series(0, $1::int - 1) u, lateral (select (u::bigint * 7919) % 1000003 as s) score
)
insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at)
select 'user-' || u, 'global', s, -s, 1, 1, $2, $2
from generate_series(0, $1::int - 1) u, lateral (select (u::bigint * 7919) % 1000003 as s) score`

	// Events of random users, in the order of time; $1 to $2 are their numbers.
	sqlPastEvents = `with e as (
    select i, 'user-' || (hashint8(i)::bigint & 2147483647) % $3 as user_id,
        $4::timestamptz + i * $5::interval as at from generate_series($1::bigint, $2::bigint) as i
), chain as (
    select e.*, row_number() over (partition by user_id order by i) as n from e
), recorded as (
    insert into user_score_histories (user_id, board_id, event_id, payload_hash, delta, applied, previous_score,
        new_score, version, recorded_at, source)
    select user_id, 'global', gen_random_uuid(), sha256('x'), 1, 1, s.score + n - 1, s.score + n, s.version + n,
        at, 'api' from chain join scores as s using (user_id) where s.board_id = 'global' order by i
)
update scores as s set score = score + m.n, order_key = order_key - m.n, version = version + m.n,
    revision = revision + m.n, reached_at = m.at, recorded_at = m.at
from (select user_id, max(n) as n, max(at) as at from chain group by user_id) as m
where s.user_id = m.user_id and s.board_id = 'global'`
)

// fill writes the users, and then in turn a checkpoint and events.
func (p *pastBoard) fill(ctx context.Context) error {
	p.stopDaemon()
	began := time.Now()
	y, month, _ := p.begin.Add(-time.Hour).Date()
	for at := time.Date(y, month, 1, 0, 0, 0, 0, time.UTC); at.Before(time.Now()); {
		next := at.AddDate(0, 1, 0)
		if err := p.exec(ctx, `select create_ledger_partition($1, $2)`, at, next); err != nil {
			return err
		}
		at = next
	}
	if err := p.exec(ctx, sqlPastUsers, p.users, p.begin.Add(-time.Hour)); err != nil {
		return err
	}
	var making time.Duration
	var cpu [2]time.Duration
	for span := range pastSpans {
		if err := p.exec(ctx, `vacuum analyze scores`); err != nil {
			return err
		}
		made := time.Now()
		before, own := p.cpus(), ownCPU()
		if err := p.checkpoint(ctx, p.at(span*p.events)); err != nil {
			return err
		}
		making += time.Since(made)
		cpu[0], cpu[1] = cpu[0]+p.cpus()[1]-before[1], cpu[1]+ownCPU()-own
		step := pastSpan / time.Duration(pastSpans*p.events)
		if err := p.exec(ctx, sqlPastEvents, span*p.events+1, (span+1)*p.events, p.users, p.begin, step); err != nil {
			return err
		}
	}
	if err := p.exec(ctx, `vacuum analyze user_score_histories`); err != nil {
		return err
	}
	if err := p.hold(ctx); err != nil {
		return err
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	if err := p.startDaemon(ctx, nil); err != nil { // rebuilds the ranking
		return err
	}
	if err := p.awaitRanking(ctx, "global", int64(p.users)); err != nil {
		return err
	}
	size, err := p.queryInt(ctx, `select sum(octet_length(standings)) from checkpoint_blocks`)
	if err != nil {
		return err
	}
	p.printf("- filled in %s; one checkpoint: %.1f s, CPU of PostgreSQL %.1f s and of the process that makes it %.1f s"+
		", %.1f bytes for each user\n", time.Since(began).Round(time.Second), making.Seconds()/pastSpans,
		cpu[0].Seconds()/pastSpans, cpu[1].Seconds()/pastSpans, float64(size)/float64(pastSpans*p.users))
	return nil
}

// hold keeps the daemon from making checkpoints, and from deleting those that are being made.
func (p *pastBoard) hold(ctx context.Context) error {
	held, err := p.store.Leases.TakeLease(ctx, "checkpoints", "scorebench", 4*time.Minute)
	if err == nil && !held {
		err = errors.New("the daemon makes checkpoints")
	}
	return err
}

func (p *pastBoard) checkpoint(ctx context.Context, at time.Time) error {
	_, err := p.store.PastBoards.Make(ctx, scoreboard.GlobalBoard, at, func(context.Context) error { return nil })
	return err
}

// reads reads one board at a time, alone and beside writes.
func (p *pastBoard) reads(ctx context.Context) error {
	p.println("\n| one at a time, at random times of 29 days | reads | p50 ms | p95 ms | p99 ms | errors | goal |")
	p.println("|---|---|---|---|---|---|---|")
	if err := p.readAll(ctx, ""); err != nil {
		return err
	}
	game, err := client.New(p.api, client.Options{
		Token: p.token, KeyID: p.key.KeyID, KeySecret: p.key.Secret, Attempts: 1,
	})
	if err != nil {
		return err
	}
	defer game.Close()
	writes := newLatencies()
	writing, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		openLoop(writing, writeRate, 64, time.Hour, func(ctx context.Context, scheduled time.Time) {
			user := "user-" + strconv.Itoa(rand.IntN(p.users))
			_, err := game.Submit(ctx, client.Increment{User: user, Delta: 1 + rand.Int64N(9)})
			if writing.Err() == nil {
				writes.add(time.Since(scheduled), err)
			}
		})
	})
	began := time.Now()
	err = p.readAll(ctx, fmt.Sprintf(", beside %d writes/s", writeRate))
	took := time.Since(began)
	stop()
	all.Wait()
	p.printf("\nWrites beside them: %.0f/s, p50 %.2f ms, p95 %.2f ms, %d errors\n",
		float64(writes.h.TotalCount())/took.Seconds(), writes.ms(50), writes.ms(95), writes.failed)
	return errors.Join(err, writes.last)
}

func (p *pastBoard) readAll(ctx context.Context, beside string) error {
	reads := pastReads
	if p.Quick {
		reads = 5
	}
	for _, kind := range []struct {
		name string
		path func() string
	}{
		{"top 100", func() string { return "/v1/leaderboard/top?limit=100" }},
		{"a user's rank", func() string { return "/v1/users/user-" + strconv.Itoa(rand.IntN(p.users)) + "/rank?k=0" }},
	} {
		l := newLatencies()
		for range reads {
			at := p.at(rand.IntN(pastSpans*p.events) + 1).Format(time.RFC3339Nano)
			address := p.api + kind.path() + "&at=" + url.QueryEscape(at)
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
			if err != nil {
				return err
			}
			began := time.Now()
			err = readResponse(http.DefaultClient, req, p.token)
			l.add(time.Since(began), err)
		}
		p.printf("| %s%s | %d | %.0f | %.0f | %.0f | %d | p95 ≤ 300 |\n", kind.name, beside, reads, l.ms(50), l.ms(95),
			l.ms(99), l.failed)
		if l.last != nil {
			return l.last
		}
	}
	return nil
}

// cost measures increments without a checkpoint, and while checkpoints are made one after
// another.
func (p *pastBoard) cost(ctx context.Context) error {
	p.println("\n| closed loop, 64 connections | increments/s | p50 ms | p99 ms | errors " +
		"| CPU cores: daemon / PostgreSQL / checkpoints | checkpoints |")
	p.println("|---|---|---|---|---|---|---|")
	if _, err := p.post(ctx, 64, p.timed/3); err != nil { // warm
		return err
	}
	if err := p.hold(ctx); err != nil {
		return err
	}
	for _, with := range []bool{false, true} {
		making, stop := context.WithCancel(ctx)
		var all sync.WaitGroup
		var failed error
		made := 0
		name := "without a checkpoint"
		if with {
			name = "while checkpoints are made"
			all.Go(func() {
				for making.Err() == nil && failed == nil {
					at, err := p.store.Now(making)
					if err == nil {
						err = p.checkpoint(making, at.Add(-time.Second))
					}
					if making.Err() == nil {
						made, failed = made+1, err
					}
				}
			})
		}
		before, own := p.cpus(), ownCPU()
		w, err := p.post(ctx, 64, p.timed)
		after := p.cpus()
		checkpoints := ownCPU() - own - w.cpu
		stop()
		all.Wait()
		if err := errors.Join(err, failed); err != nil {
			return err
		}
		cores := func(d time.Duration) float64 { return d.Seconds() / w.took.Seconds() }
		p.printf("| %s | %.0f | %s | %s | %d | %.2f / %.2f / %.2f | %d |\n", name,
			float64(w.requests)/w.took.Seconds(), w.p50, w.p99, w.errors, cores(after[0]-before[0]),
			cores(after[1]-before[1]), cores(max(checkpoints, 0)), made)
	}
	return nil
}

// whatIf runs a what-if over the events of one span, and over all.
func (p *pastBoard) whatIf(ctx context.Context) error {
	c, err := p.newClient()
	if err != nil {
		return err
	}
	defer c.Close()
	p.println("\n| what-if with a cooldown of an hour | events | s | events/s |")
	p.println("|---|---|---|---|")
	for span, name := range []string{0: "since the first checkpoint", pastSpans - 1: "since the last one"} {
		if name == "" {
			continue
		}
		r := client.WhatIfRequest{Rules: json.RawMessage(`{"cooldown":"1h"}`)}
		r.Since, r.Limit = p.at(span*p.events).Add(time.Microsecond), 10
		began := time.Now()
		result, err := c.WhatIf(ctx, r, func(client.JobLine) {})
		if err != nil {
			return err
		}
		took := time.Since(began).Seconds()
		p.printf("| %s | %d | %.1f | %.0f |\n", name, result.Evaluated, took, float64(result.Evaluated)/took)
	}
	return nil
}
