// Package ledgertx runs a ledger.Batch in a transaction: it locks and reads what
// the batch requests, lets the caller decide, writes the rows and commits.
//
// Assumption: every writer locks the users rows it needs first, in byte order,
// and only then searches for known events; PostgreSQL's clock decides all times.
// Every statement finds rows by unnest and one index probe per row, because plans
// made while tables are small are kept when they are large.
package ledgertx

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// ErrUsersLocked marks a batch that waited too long for a user's row.
var ErrUsersLocked = errors.New("a user is locked by another transaction")

// Runner runs batches.
type Runner struct {
	DB     *pg.DB
	Window scoreboard.Window // in which repeats are recognised
	// CloseGrace is how long after the end of a period increments that were
	// accepted before it still count for it.
	CloseGrace time.Duration
}

// Run runs a batch in one transaction: the locks and reads, then decide, which
// fills in the outcomes and rows and may read and write more, then the rows and
// the commit. A nil error means that the transaction is committed.
func (r Runner) Run(ctx context.Context, b *ledger.Batch, decide func(context.Context, *pgxpool.Conn) error) error {
	conn, err := r.DB.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // a connection left inside a transaction is closed by the pool
	if err = r.read(ctx, conn, b); err == nil {
		err = decide(ctx, conn)
	}
	if err == nil {
		err = write(ctx, conn, b)
	}
	if err != nil {
		pg.Rollback(conn)
	}
	return err
}

const (
	// Shared; freeze and rollover take it exclusively. One lock covers a family
	// and all its instances. The status is read in a separate statement, after
	// the wait.
	sqlLockBoards = `select pg_advisory_xact_lock_shared(hashtextextended(split_part(b, ':', 1), 0))
from unnest($1::text[]) as t(b)`

	// For a family also its instances that have not ended, by the database's
	// clock, which is read once because only a constant can be used in an index
	// search. Subscripts, because unnest tells the planner the number of boards:
	// a plan for one board then looks cheaper than the general one, and the
	// statement is planned again for every batch.
	sqlBoards = `select t.b, ` + pg.BoardColumns + `
from (select ($1::text[])[n] from generate_subscripts($1::text[], 1) as n) as t(b) cross join lateral (
    (select * from boards where board_id = t.b)
    union all
    (select * from boards where family_id = t.b and period_end > (select clock_timestamp() - $2::interval)
     order by period_end limit 16)) as boards`

	// A separate statement: only a snapshot taken under the locks contains what
	// was committed while this transaction waited for them. Without the offset the
	// planner may read every reversal into a hash table.
	sqlKnownEvents = `select t.n, h.board_id, h.payload_hash, h.applied, h.previous_score, h.new_score, h.version,
h.recorded_at, h.previous_subscore, coalesce(h.new_subscore, 0),
    exists (select from reversals as r where r.user_id = t.u and r.event_id = t.e and r.internal = $4 offset 0)
from unnest($1::text[], $2::uuid[]) with ordinality as t(u, e, n) cross join lateral (
    select * from user_score_histories
    where user_id = t.u and event_id = t.e and (source = 'admin') = $4 and recorded_at >= $3 offset 0) as h
order by t.n`

	sqlScores = `select t.n, s.score, s.version, s.revision, s.reached_at, s.hidden, s.empty, s.action_until,
    s.uncounted, coalesce(case when s.metadata_version = s.version then s.metadata end, ''), s.subscore
from unnest($1::text[], $2::text[]) with ordinality as t(u, b, n) cross join lateral (
    select * from scores where user_id = t.u and board_id = t.b offset 0) as s`

	sqlPlayers = `select t.n from unnest($1::text[], $2::text[]) with ordinality as t(u, b, n) cross join lateral (
    select from board_players where board_id = t.b and user_id = t.u offset 0) as p`

	// Each token belongs to a user whose row is locked.
	sqlUsedTokens = `select u.action_id, u.event_id from unnest($1::text[], $2::uuid[]) as t(u, id)
cross join lateral (select * from used_action_tokens where user_id = t.u and action_id = t.id offset 0) as u`

	// A void of what a revoked key signed waits for transactions that began before it, so
	// nothing is recorded beyond it.
	sqlRevokedKeys = `select k.key_id from unnest($1::text[]) as t(id)
cross join lateral (select key_id from keys where key_id = t.id and revoked_at is not null offset 0) as k`
)

// read begins the transaction, takes every lock and reads everything that the
// decision needs in one round trip; families need a second one.
func (r Runner) read(ctx context.Context, conn *pgxpool.Conn, b *ledger.Batch) error {
	atUsers := false // the next statement waits for users
	var q pgx.Batch
	r.DB.QueueBegin(&q)
	q.Queue(sqlLockBoards, b.BoardNames)
	q.Queue(sqlBoards, b.BoardNames, r.CloseGrace).Query(func(found pgx.Rows) error {
		err := readBoards(found, b)
		atUsers = err == nil
		return err
	})
	lock := q.Queue(pg.SQLLockUsers, b.UserNames)
	if b.ImportID != 0 {
		lock.SQL, lock.Arguments = pg.SQLLockImported, []any{b.UserNames, b.UserPlaces(), b.ImportID}
	}
	lock.Query(func(found pgx.Rows) error {
		err := readUsers(found, b)
		atUsers = atUsers && err != nil
		return err
	})
	if b.ImportID == 0 && !b.Computed {
		q.Queue(sqlKnownEvents, r.knownArguments(b)...).Query(func(found pgx.Rows) error { return readKnown(found, b) })
	}
	q.Queue(sqlScores, b.Scores.Users, b.Scores.Boards).Query(func(found pgx.Rows) error {
		return readScores(found, &b.Scores)
	})
	if len(b.Tokens.Wanted) > 0 {
		q.Queue(sqlUsedTokens, b.Tokens.WantedFrom, b.Tokens.Wanted).Query(func(found pgx.Rows) error {
			return readTokens(found, b)
		})
	}
	if len(b.KeyIDs) > 0 {
		q.Queue(sqlRevokedKeys, b.KeyIDs).Query(func(found pgx.Rows) error { return readRevoked(found, b) })
	}
	err := conn.SendBatch(ctx, &q).Close()
	if pg.Code(err) == pg.LockNotAvailable && atUsers {
		return fmt.Errorf("lock and look up: %w: %w", ErrUsersLocked, err)
	}
	if err == nil {
		err = readInstanceScores(ctx, conn, b)
	}
	if err != nil {
		return fmt.Errorf("lock and look up: %w", err)
	}
	return nil
}

// readInstanceScores reads the scores on instances of families, which depend on
// the users' times, and who has joined those that require it.
func readInstanceScores(ctx context.Context, conn *pgxpool.Conn, b *ledger.Batch) error {
	pairs, err := b.InstanceScores()
	if err != nil || len(pairs.Users) == 0 {
		return err
	}
	var q pgx.Batch
	q.Queue(sqlScores, pairs.Users, pairs.Boards).Query(func(found pgx.Rows) error {
		return readScores(found, &pairs)
	})
	if len(b.Players.Users) > 0 {
		q.Queue(sqlPlayers, b.Players.Users, b.Players.Boards).Query(func(found pgx.Rows) error {
			return readPlayers(found, b)
		})
	}
	return conn.SendBatch(ctx, &q).Close()
}

func readPlayers(found pgx.Rows, b *ledger.Batch) error {
	var n int64
	_, err := pgx.ForEachRow(found, []any{&n}, func() error {
		b.AddPlayer(int(n - 1))
		return nil
	})
	return err
}

// knownArguments are the parameters of sqlKnownEvents.
func (r Runner) knownArguments(b *ledger.Batch) []any {
	return []any{b.EventUsers, b.EventIDs, r.Window.Since(time.Now()), b.Internal}
}

// ReadKnown looks up the events of a batch without locks.
func (r Runner) ReadKnown(ctx context.Context, b *ledger.Batch) error {
	rows, err := r.DB.Query(ctx, sqlKnownEvents, r.knownArguments(b)...)
	if err != nil {
		return err
	}
	return readKnown(rows, b)
}

func readBoards(found pgx.Rows, b *ledger.Batch) error {
	var name scoreboard.BoardID
	return pg.ForEach(found, func() error {
		board, err := pg.ScanBoard(found, &name)
		if err == nil {
			b.AddBoard(name, &board)
		}
		return err
	})
}

func readUsers(found pgx.Rows, b *ledger.Batch) error {
	return pg.ForEach(found, func() error {
		u, err := pg.ScanLocked(found)
		if err == nil {
			b.AddUser(&u)
		}
		return err
	})
}

func readKnown(found pgx.Rows, b *ledger.Batch) error {
	var n int64
	var hash []byte
	var r scoreboard.Receipt
	to := []any{
		&n, &r.Board, &hash, &r.Applied, &r.Previous, &r.NewScore, &r.Version, &r.RecordedAt,
		&r.PreviousSubscore, &r.NewSubscore, &r.Reversed,
	}
	_, err := pgx.ForEachRow(found, to, func() error {
		b.AddKnown(int(n-1), [16]byte(hash), r)
		return nil
	})
	return err
}

func readScores(found pgx.Rows, pairs *ledger.ScorePairs) error {
	var n int64
	var s ledger.Score
	var empty bool
	var action *time.Time
	to := []any{
		&n, &s.Value, &s.Version, &s.Revision, &s.ReachedAt, &s.Hidden, &empty, &action, &s.Uncounted,
		&s.Metadata, &s.Subscore,
	}
	_, err := pgx.ForEachRow(found, to, func() error {
		s.ActionUntil = time.Time{}
		if action != nil {
			s.ActionUntil = *action
		}
		s.Exists, s.ReachedAt = !empty, s.ReachedAt.UTC()
		pairs.Set(int(n-1), s)
		return nil
	})
	return err
}

func readRevoked(found pgx.Rows, b *ledger.Batch) error {
	var key string
	_, err := pgx.ForEachRow(found, []any{&key}, func() error {
		b.AddRevoked(key)
		return nil
	})
	return err
}

func readTokens(found pgx.Rows, b *ledger.Batch) error {
	var id, event [16]byte
	_, err := pgx.ForEachRow(found, []any{&id, &event}, func() error {
		b.Tokens.AddUsed(id, event)
		return nil
	})
	return err
}
