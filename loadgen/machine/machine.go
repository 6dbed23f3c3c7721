// Package machine measures what a machine can give at all, so that a weak one is not taken for a
// slow server: requests to an HTTP server that does nothing, and the bare transaction of
// specification A on a PostgreSQL. Nothing of scoreboard runs meanwhile.
package machine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// Callers is the number of concurrent callers, Users the number of users that they write for, and
// Skew how unevenly, as in the load of specification A.
const (
	Callers = 64
	Users   = 10_000
	Skew    = 1.1
)

// lasts is how long each of the two is measured.
const lasts = 5 * time.Second

// Measure measures the machine. postgres is the URL of a database on the PostgreSQL of the server
// under test, which gets a schema for the duration; without it only HTTP is measured.
func Measure(ctx context.Context, postgres string) (*record.Capacity, error) {
	var c record.Capacity
	var err error
	if c.HTTP, err = requests(ctx); err != nil {
		return nil, fmt.Errorf("measure an empty HTTP server: %w", err)
	}
	if postgres == "" {
		return &c, nil
	}
	if c.Transactions, err = Transactions(ctx, postgres, lasts); err != nil {
		return nil, fmt.Errorf("measure the transaction of specification A: %w", err)
	}
	return &c, nil
}

// requests is the rate of requests of the size of an increment to a server in this process that
// reads and answers them.
func requests(ctx context.Context) (float64, error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"status":"done"}`)
	}))
	defer server.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: Callers}
	defer transport.CloseIdleConnections()
	callers := &http.Client{Transport: transport, Timeout: lasts}
	body := strings.Repeat("x", 300)
	return Rate(ctx, lasts, func(ctx context.Context, user string) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/"+user, strings.NewReader(body))
		if err != nil {
			return err
		}
		resp, err := callers.Do(r)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return errors.Join(err, resp.Body.Close())
	})
}

// Rate calls do from all callers for a time, each call for one of the users, and returns the calls
// per second, which are more than 0. It ends with the first error.
func Rate(ctx context.Context, d time.Duration, do func(ctx context.Context, user string) error) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var done atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, Callers)
	started := time.Now()
	for i := range Callers {
		all.Go(func() {
			zipf := mathrand.NewZipf(mathrand.New(mathrand.NewPCG(uint64(i), 7)), Skew, 1, Users-1)
			for ctx.Err() == nil {
				if err := do(ctx, "user-"+strconv.FormatUint(zipf.Uint64(), 10)); err != nil {
					if ctx.Err() == nil {
						errs[i] = err
						cancel()
					}
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	if done.Load() == 0 {
		return 0, fmt.Errorf("not one call ended within %v", d)
	}
	return float64(done.Load()) / time.Since(started).Seconds(), nil
}

// tables are those of specification A, in a schema of their own.
const tables = `create schema %[1]s;
create table %[1]s.users (user_id text primary key, score bigint not null default 0, updated_at timestamptz);
create table %[1]s.user_score_histories (event_id uuid primary key, user_id text not null, delta bigint not null,
    ts timestamptz not null, previous_score bigint, new_score bigint);
create index on %[1]s.user_score_histories (user_id, ts desc);
create table %[1]s.outbox_score_updates (id bigserial primary key, event_id uuid unique, user_id text,
    new_score bigint, ts timestamptz, processed_at timestamptz);
create index on %[1]s.outbox_score_updates (processed_at nulls first);
insert into %[1]s.users (user_id) select 'user-' || n from generate_series(0, %[2]d) n`

// Transactions is the rate of specification A's transaction for each increment: read and lock the
// user, insert the event, update the user and the event, insert into the outbox. It creates a
// schema in the database and drops it.
func Transactions(ctx context.Context, url string, d time.Duration) (rate float64, err error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return 0, err
	}
	c.MaxConns = Callers
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	schema := "scoreboard_measure_" + strings.ToLower(rand.Text())
	if _, err := pool.Exec(ctx, fmt.Sprintf(tables, schema, Users-1)); err != nil {
		return 0, fmt.Errorf("create a schema: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		_, dropErr := pool.Exec(ctx, "drop schema "+schema+" cascade")
		err = errors.Join(err, dropErr)
	}()
	one := transaction(schema)
	return Rate(ctx, d, func(ctx context.Context, user string) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return one(ctx, tx, user) })
	})
}

// transaction returns the statements of one increment, of one point.
func transaction(schema string) func(ctx context.Context, tx pgx.Tx, user string) error {
	lock := "select score from " + schema + ".users where user_id = $1 for update"
	record := "insert into " + schema + ".user_score_histories (event_id, user_id, delta, ts) " +
		"values ($1, $2, 1, now()) on conflict (event_id) do nothing"
	add := "update " + schema + ".users set score = score + 1, updated_at = now() where user_id = $1 returning score"
	complete := "update " + schema + ".user_score_histories set previous_score = $2, new_score = $3 where event_id = $1"
	announce := "insert into " + schema + ".outbox_score_updates (event_id, user_id, new_score, ts) " +
		"values ($1, $2, $3, now())"
	return func(ctx context.Context, tx pgx.Tx, user string) error {
		var before, after int64
		if err := tx.QueryRow(ctx, lock, user).Scan(&before); err != nil {
			return err
		}
		event := client.NewEventID()
		if _, err := tx.Exec(ctx, record, event, user); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, add, user).Scan(&after); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, complete, event, before, after); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, announce, event, user, after)
		return err
	}
}
