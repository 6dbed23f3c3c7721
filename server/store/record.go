package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// recordTries bounds how often a batch is run before the store is called
// unavailable.
const recordTries = 4

// Record writes a batch of increments in one transaction and returns an
// outcome for each, in order: receipts, or why this one was refused. Several
// increments of one user keep their order.
//
// A nil error means that the transaction is committed. Otherwise nothing is
// known to be written, and Record may be called again with the same batch: a
// repeat is recognised by its event id.
//
// A user who is locked for longer than LockWait does not hold up the others:
// the outcome of each of that user's items is scoreboard.ErrUserLocked, and
// none of them is written.
func (s *Store) Record(ctx context.Context, batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
	var err error
	locked := make(map[scoreboard.UserID]bool)
	waits := 0 // for the rows of users
	for try := range recordTries {
		if try > 0 && !errors.Is(err, errUsersLocked) {
			pause := time.Duration(1<<try) * time.Millisecond
			select {
			case <-time.After(pause/2 + rand.N(pause)):
			case <-ctx.Done():
				return nil, translate(ctx.Err())
			}
		}
		var outcomes []scoreboard.Outcome
		if outcomes, err = s.recordWithout(ctx, batch, locked); err == nil {
			return outcomes, nil
		}
		var missing *missingInstance
		if errors.As(err, &missing) {
			if _, makeErr := s.MakeInstances(ctx, missing.family); makeErr != nil {
				err = makeErr
			}
		}
		if errors.Is(err, errUsersLocked) {
			waits++
			if probe := s.addLocked(ctx, batch, locked, waits > 1); probe != nil {
				err = probe
			}
		}
		if !mayRunAgain(err) {
			break
		}
	}
	return nil, translate(fmt.Errorf("record %d increments: %w", len(batch), err))
}

func (s *Store) recordOnce(ctx context.Context, batch []scoreboard.Increment) ([]scoreboard.Outcome, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release() // a connection left inside a transaction is closed by the pool
	r := newRecording(batch, s.o.Shards)
	if s.o.Policy != nil {
		r.past = newPast(s.o.Policy(), batch)
	}
	err = s.lockAndLook(ctx, conn, r)
	if err == nil {
		err = s.lookBack(ctx, conn, r)
	}
	if err == nil {
		r.decide()
		err = s.write(ctx, conn, r)
	}
	if err != nil {
		abandon(conn)
		return nil, err
	}
	s.tell(r.past.found)
	return r.outcomes, nil
}

// abandon rolls back what a failed step left open, within its own deadline.
func abandon(conn *pgxpool.Conn) {
	if conn.Conn().IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = conn.Exec(ctx, "rollback") // a connection that cannot is closed by the pool
}

const (
	sqlBegin = `begin`

	// Set for the transaction, not the session: PgBouncer lends sessions. While
	// a table fits a page, scanning it is cheaper than its index, and a plan
	// made then is kept when it does not. Forcing generic plans would save a
	// plan a batch, but the one for a table analysed while it was empty reads
	// all of it.
	sqlSettings = `select set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true),
       set_config('idle_in_transaction_session_timeout', $2, true), set_config('enable_seqscan', 'off', true)`

	// Shared against freeze and roll-over, which take it exclusively: one lock
	// for a family and all its instances. The status is read in a statement of
	// its own, after the wait.
	sqlLockBoards = `select pg_advisory_xact_lock_shared(hashtextextended(split_part(b, ':', 1), 0)) from unnest($1::text[]) as t(b)`

	// Of a family also its instances that are not over; by the database's clock,
	// which is read once, as only a constant can be looked for in an index.
	// By subscripts, because unnest tells the planner how many there are: a plan
	// for one board then looks cheaper than the general one, and is made anew
	// for every batch.
	sqlBoards = `select t.b, ` + boardColumns + `
from (select ($1::text[])[n] from generate_subscripts($1::text[], 1) as n) as t(b) cross join lateral (
    (select * from boards where board_id = t.b)
    union all
    (select * from boards where family_id = t.b and period_end > (select clock_timestamp() - $2::interval)
     order by period_end limit 16)) as boards`

	// Creates who is missing and locks everybody, in the order of the input,
	// with one probe a row; the lock is "for no key update". clock_timestamp is
	// taken after the wait for the row, so a user's time never goes back.
	sqlLockUsers = `insert into users (user_id, last_recorded_at)
select u, clock_timestamp() from unnest($1::text[]) as t(u)
on conflict (user_id) do update set last_recorded_at = greatest(clock_timestamp(), users.last_recorded_at)
returning user_id, status, last_recorded_at, xmax = 0`

	// A statement of its own: only a snapshot taken under the locks sees what
	// was committed while this transaction waited for them.
	sqlKnownEvents = `select t.n, h.board_id, h.payload_hash, h.applied, h.previous_score, h.new_score, h.version, h.recorded_at,
    exists (select from reversals as r where r.user_id = t.u and r.event_id = t.e)
from unnest($1::text[], $2::uuid[]) with ordinality as t(u, e, n) cross join lateral (
    select * from user_score_histories
    where user_id = t.u and event_id = t.e and recorded_at >= $3 offset 0) as h
order by t.n`

	sqlScores = `select t.n, s.score, s.version, s.revision, s.reached_at, s.hidden, s.empty
from unnest($1::text[], $2::text[]) with ordinality as t(u, b, n) cross join lateral (
    select * from scores where user_id = t.u and board_id = t.b offset 0) as s`
)

// lockAndLook opens the transaction, takes every lock and reads all that the
// decision needs, in one round trip.
func (s *Store) lockAndLook(ctx context.Context, conn *pgxpool.Conn, r *recording) error {
	var b pgx.Batch
	b.Queue(sqlBegin)
	b.Queue(sqlSettings, milliseconds(s.o.LockWait), milliseconds(s.o.Timeout))
	b.Queue(sqlLockBoards, r.boardNames)
	b.Queue(sqlBoards, r.boardNames, s.o.CloseGrace).Query(r.readBoards)
	b.Queue(sqlLockUsers, r.userNames).Query(r.readUsers)
	b.Queue(sqlKnownEvents, r.eventUsers, r.eventIDs, KnownSince(time.Now())).Query(r.readKnown)
	b.Queue(sqlScores, r.pairs.users, r.pairs.boards).Query(r.pairs.read)
	if len(r.proofs.asked) > 0 {
		b.Queue(sqlUsedTokens, r.proofs.asked).Query(r.proofs.read)
	}
	err := conn.SendBatch(ctx, &b).Close()
	if state(err) == stateLockTimeout && r.reached == atUsers {
		return fmt.Errorf("lock and look up: %w: %w", errUsersLocked, err)
	}
	if err == nil && len(r.spans) > 0 {
		err = s.lookAtInstances(ctx, conn, r)
	}
	if err != nil {
		return fmt.Errorf("lock and look up: %w", err)
	}
	return nil
}

// lookAtInstances reads the scores on instances of families, which are known
// only now that the users' time is.
func (s *Store) lookAtInstances(ctx context.Context, conn *pgxpool.Conn, r *recording) error {
	pairs, err := r.instances()
	if err != nil || len(pairs.users) == 0 {
		return err
	}
	rows, err := conn.Query(ctx, sqlScores, pairs.users, pairs.boards)
	if err != nil {
		return err
	}
	return pairs.read(rows)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// KnownSince is the start of the window in which repeats are recognised: the
// current and the previous ledger partition. The clock is this machine's, so
// a day is left for the two to differ.
func KnownSince(now time.Time) time.Time {
	y, m, _ := now.UTC().AddDate(0, 0, -1).Date()
	return time.Date(y, m-1, 1, 0, 0, 0, 0, time.UTC)
}

// sqlWrite puts the rows of a batch into ledger, outbox and scores in one
// statement. An array that is shorter than the others reads as nulls, so a
// column that nobody used costs nothing.
const sqlWrite = `with t as materialized (
    select * from unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::bytea[], $6::bigint[], $7::bigint[],
        $8::bigint[], $9::bigint[], $10::bigint[], $11::timestamptz[], $12::timestamptz[], $13::text[], $14::text[],
        $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::bigint[], $21::bigint[],
        $22::timestamptz[], $23::smallint[], $24::boolean[], $25::boolean[], $26::boolean[], $27::boolean[],
        $28::text[])
    as t(user_id, board_id, event_id, event_text, payload_hash, delta, applied, previous_score, new_score, version,
        recorded_at, client_timestamp, source, action, key_id, signer, address, user_agent, trace, revision, order_key,
        reached_at, shard, changed, last, hidden, empty, country)
), ledger as (
    insert into user_score_histories (user_id, board_id, event_id, event_text, payload_hash, delta, applied,
        previous_score, new_score, version, recorded_at, client_timestamp, source, action, key_id, signer, address,
        user_agent, country)
    select user_id, board_id, event_id, event_text, payload_hash, delta, applied, previous_score, new_score, version,
        recorded_at, client_timestamp, source, action, key_id, signer, address, user_agent, country
    from t
), outbox as (
    insert into outbox_score_updates (shard, event_id, user_id, board_id, score, previous_score, delta, order_key,
        version, revision, reached_at, recorded_at, hidden, trace)
    select shard, event_id, user_id, board_id, new_score, previous_score, applied, order_key, version, revision,
        reached_at, recorded_at, coalesce(hidden, false), trace
    from t where changed
)
insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at, hidden, empty)
select user_id, board_id, new_score, order_key, version, revision, reached_at, recorded_at, coalesce(hidden, false),
    coalesce(empty, false)
from t where last
on conflict (user_id, board_id) do update set score = excluded.score, order_key = excluded.order_key,
    version = excluded.version, revision = excluded.revision, reached_at = excluded.reached_at,
    recorded_at = excluded.recorded_at, hidden = excluded.hidden, empty = excluded.empty`

const sqlForgetUsers = `delete from users where user_id = any($1)`

// write stores what was decided and commits, in one round trip.
func (s *Store) write(ctx context.Context, conn *pgxpool.Conn, r *recording) error {
	var b pgx.Batch
	if r.rows.len() > 0 {
		b.Queue(sqlWrite, r.rows.arguments()...)
	}
	if len(r.proofs.uses) > 0 {
		b.Queue(sqlUseTokens, r.proofs.uses, r.proofs.events)
	}
	if strangers := r.strangers(); len(strangers) > 0 {
		b.Queue(sqlForgetUsers, strangers)
	}
	r.past.flag(&b)
	b.Queue("commit")
	results := conn.SendBatch(ctx, &b)
	if err := results.Close(); err != nil {
		return fmt.Errorf("write and commit: %w", err)
	}
	return nil
}

// sortedKeys returns the keys of m in byte order, the order of locking.
func sortedKeys[K ~string, V any](m map[K]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, string(k))
	}
	slices.Sort(keys)
	return keys
}
