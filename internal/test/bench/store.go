package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/pipeline/ingest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// callers is the number of concurrent callers of the store.
const callers = 64

// storeBench uses the database of an installation without its daemon.
type storeBench struct{ *rig }

// Store compares group commit with one transaction per increment as in
// specification A, with the same PostgreSQL, callers and users.
func Store(ctx context.Context, o Options) error {
	on, err := newDir(o)
	if err != nil {
		return err
	}
	defer on.stop()
	r := storeBench{on}
	if r.Backends = o.Backends; r.Backends == nil {
		postgres, err := startPostgres(ctx, r.dir)
		if err != nil {
			return err
		}
		r.onStop(postgres.Kill)
		r.Backends = &Backends{Postgres: postgres}
	}
	r.prefix = fmt.Sprintf("bench%d", r.rigs.Add(1))
	if err := r.createDatabase(ctx); err != nil {
		return err
	}
	specified, err := r.specified(ctx)
	if err != nil {
		return err
	}
	grouped, err := r.grouped(ctx)
	if err != nil {
		return err
	}
	r.printf("- one transaction per increment, %d callers: %.0f/s\n- group commit, %d callers: %.0f/s\n- ratio: %.1f\n",
		callers, specified, callers, grouped, grouped/specified)
	return nil
}

// closedLoop calls do from all callers for a time, and returns the rate.
func closedLoop(
	ctx context.Context, d time.Duration, do func(ctx context.Context, user string) error,
) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var done atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, callers)
	started := time.Now()
	for i := range callers {
		all.Go(func() {
			zipf := rand.NewZipf(rand.New(rand.NewPCG(uint64(i), 7)), skew, 1, users-1)
			for ctx.Err() == nil {
				if err := do(ctx, "user-"+strconv.FormatUint(zipf.Uint64(), 10)); err != nil {
					if ctx.Err() == nil {
						errs[i] = err
					}
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	return float64(done.Load()) / time.Since(started).Seconds(), errors.Join(errs...)
}

const specifiedTables = `create schema specified;
create table specified.users (user_id text primary key, score bigint not null default 0, updated_at timestamptz);
create table specified.user_score_histories (event_id uuid primary key, user_id text not null, delta bigint not null,
    ts timestamptz not null, previous_score bigint, new_score bigint);
create index on specified.user_score_histories (user_id, ts desc);
create table specified.outbox_score_updates (id bigserial primary key, event_id uuid unique, user_id text,
    new_score bigint,
    ts timestamptz, processed_at timestamptz);
create index on specified.outbox_score_updates (processed_at nulls first);
insert into specified.users (user_id) select 'user-' || n from generate_series(0, 9999) n`

// specified runs the transaction of specification A for each increment.
func (r storeBench) specified(ctx context.Context) (float64, error) {
	c, err := pgxpool.ParseConfig(r.database)
	if err != nil {
		return 0, err
	}
	c.MaxConns = callers
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, specifiedTables); err != nil {
		return 0, err
	}
	return closedLoop(ctx, r.store, func(ctx context.Context, user string) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			var before, after int64
			err := tx.QueryRow(ctx, `select score from specified.users where user_id = $1 for update`, user).
				Scan(&before)
			if err != nil {
				return err
			}
			event := client.NewEventID()
			if _, err := tx.Exec(
				ctx,
				`insert into specified.user_score_histories (event_id, user_id, delta, ts) values ($1, $2, 1, now())
on conflict (event_id) do nothing`,
				event,
				user,
			); err != nil {
				return err
			}
			if err := tx.QueryRow(ctx, `update specified.users set score = score + 1, updated_at = now()
where user_id = $1 returning score`, user).Scan(&after); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx,
				`update specified.user_score_histories set previous_score = $2, new_score = $3 where event_id = $1`,
				event, before, after); err != nil {
				return err
			}
			_, err = tx.Exec(
				ctx,
				`insert into specified.outbox_score_updates (event_id, user_id, new_score, ts)
values ($1, $2, $3, now())`,
				event,
				user,
				after,
			)
			return err
		})
	})
}

type noRanks struct{}

func (noRanks) Rank(context.Context, []*scoreboard.Receipt) {}

// grouped runs ingest and store as the daemon does.
func (r storeBench) grouped(ctx context.Context) (float64, error) {
	s, err := store.Open(ctx, store.Options{
		URL: r.database, MaxConns: 4, LockWait: 100 * time.Millisecond, Timeout: 5 * time.Second, Shards: 1,
	})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	in := ingest.New(
		ingest.Options{Lanes: 1, Batch: 500, Queue: 8192, Wait: time.Second}, s.Increments, noRanks{}, func() {},
		slog.New(slog.DiscardHandler),
	)
	runCtx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = in.Run(runCtx) })
	defer running.Wait()
	defer stop()
	return closedLoop(ctx, r.store, func(ctx context.Context, user string) error {
		event, err := scoreboard.ParseEventID(scoreboard.UserID(user), client.NewEventID())
		if err != nil {
			return err
		}
		_, err = in.Submit(ctx, scoreboard.Increment{
			User: scoreboard.UserID(user), Delta: 1, Event: event, Boards: []scoreboard.BoardID{scoreboard.GlobalBoard},
			Source: scoreboard.SourceAPI, Client: time.Now(), KeyID: "k", Signer: user, Address: "127.0.0.1",
		})
		return err
	})
}
