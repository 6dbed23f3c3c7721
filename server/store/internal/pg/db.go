package pg

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options are the settings of a DB.
type Options struct {
	URL      string
	MaxConns int           // of the pool
	LockWait time.Duration // the longest wait for a row lock
	Timeout  time.Duration // of one statement
	// Describe uses unnamed statements with cached descriptions instead of
	// named prepared ones, which PgBouncer in transaction mode needs.
	Describe bool
	// Secure changes the settings of a connection that is about to be made, for TLS;
	// nil: they are those of the URL.
	Secure func(*pgconn.Config)
	// Writes has a URL of several hosts lead to the one that accepts writes.
	Writes bool
}

// DB is a pool of connections and the limits of its transactions.
type DB struct {
	*pgxpool.Pool
	lockWait, timeout time.Duration
	tracer            *tracer
	renewed           atomic.Int64 // when Renew last did, in Unix nanoseconds
}

// ErrURL means that a URL of PostgreSQL cannot be read. It does not say why: every part
// of such a URL may be a piece of its password.
var ErrURL = errors.New("the PostgreSQL URL is invalid: want postgres://USER:PASSWORD@HOST:PORT/DATABASE, with " +
	"special characters percent-encoded, or keyword=value pairs")

// Open does not connect: an unreachable database is detected on first use.
func Open(ctx context.Context, o Options) (*DB, error) {
	c, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, ErrURL // pgx quotes the URL, and cannot always tell its password
	}
	c.MaxConns = int32(o.MaxConns)
	c.ConnConfig.ConnectTimeout = 2 * time.Second
	c.HealthCheckPeriod = 5 * time.Second
	c.MaxConnLifetimeJitter = 5 * time.Minute
	if o.Describe {
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if o.Secure != nil {
		c.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
			o.Secure(&c.Config)
			return nil
		}
	}
	if o.Writes && c.ConnConfig.ValidateConnect == nil && severalHosts(c.ConnConfig) {
		c.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	db := &DB{lockWait: o.LockWait, timeout: o.Timeout, tracer: newTracer()}
	c.ConnConfig.Tracer = db.tracer
	c.ConnConfig.OnPgError = db.keepAfter(c.ConnConfig.OnPgError)
	if db.Pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		return nil, fmt.Errorf("open the PostgreSQL pool: %w", err)
	}
	return db, nil
}

// severalHosts reports whether a URL names more than one server. A fallback may also be
// the same one without TLS.
func severalHosts(c *pgx.ConnConfig) bool {
	for _, f := range c.Fallbacks {
		if f.Host != c.Host || f.Port != c.Port {
			return true
		}
	}
	return false
}

// keepAfter says whether a connection is kept after an error. One that leads to a read-only
// server leaves with all others of the pool: they lead there, too.
func (db *DB) keepAfter(before pgconn.PgErrorHandler) pgconn.PgErrorHandler {
	return func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		if err.Code == ReadOnlyTransaction {
			db.Renew()
		}
		s, _ := stateOf(err.Code)
		return before(conn, err) && !s.Drop
	}
}

// IsReadOnly asks the server whether it rejects writes. If it does, the connection is closed
// and the pool is renewed.
func (db *DB) IsReadOnly(ctx context.Context) (readOnly bool, err error) {
	err = db.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		const sql = `select current_setting('transaction_read_only') = 'on'`
		if err := conn.QueryRow(ctx, sql).Scan(&readOnly); err != nil || !readOnly {
			return err
		}
		db.Renew()
		return conn.Conn().Close(ctx)
	})
	return readOnly, err
}

// renewInterval is the shortest time between two renewals of a pool.
const renewInterval = time.Second

// Renew closes the connections of the pool, those in use when they are returned, so that
// the next ones are made to where the URL leads now.
func (db *DB) Renew() {
	now, last := time.Now().UnixNano(), db.renewed.Load()
	if now-last >= int64(renewInterval) && db.renewed.CompareAndSwap(last, now) {
		db.Reset()
	}
}

// Querier is the pool, a connection or a transaction.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Set for the transaction, not the session: PgBouncer shares sessions. While a
// table fits a page, scanning it is cheaper than its index, and a plan made then
// is kept when the table has grown. Generic plans would save planning each batch,
// but one made for a table analysed while it was empty reads all of it. Without
// sequential scans plans may look expensive, which would have PostgreSQL compile them.
const sqlLimits = `select set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true),
       set_config('idle_in_transaction_session_timeout', $2, true), set_config('enable_seqscan', 'off', true),
       set_config('jit', 'off', true)`

// QueueBegin begins a limited transaction with the first statements of a batch.
func (db *DB) QueueBegin(b *pgx.Batch) {
	b.Queue("begin")
	db.QueueLimits(b)
}

// QueueLimits limits the transaction of a batch. A batch without a begin is a transaction
// of its own, which is committed with its last statement.
func (db *DB) QueueLimits(b *pgx.Batch) {
	b.Queue(sqlLimits, milliseconds(db.lockWait), milliseconds(db.timeout))
}

// InLimitedTx runs do in a transaction with the limits of the write path, and
// repeats it while the error is retryable.
func (db *DB) InLimitedTx(ctx context.Context, do func(pgx.Tx) error) error {
	return Retry(ctx, func() error { return db.InOneLimitedTx(ctx, do) })
}

// InOneLimitedTx is InLimitedTx without repeats.
func (db *DB) InOneLimitedTx(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLimits, milliseconds(db.lockWait), milliseconds(db.timeout)); err != nil {
			return err
		}
		return do(tx)
	})
}

// TxWithLockTimeout runs do in a transaction that waits at most wait for a lock, so that
// others do not queue behind it for long.
func (db *DB) TxWithLockTimeout(ctx context.Context, wait time.Duration, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `select set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true),
    set_config('idle_in_transaction_session_timeout', $2, true)`, milliseconds(wait), milliseconds(db.timeout))
		if err != nil {
			return err
		}
		return do(tx)
	})
}

// InSchemaTx runs do, which changes partitions, in a transaction that waits at most
// wait for a lock and has no statement timeout.
func (db *DB) InSchemaTx(ctx context.Context, wait time.Duration, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select set_config('lock_timeout', $1, true)`, milliseconds(wait)); err != nil {
			return err
		}
		return do(tx)
	})
}

// Snapshot begins transactions in which every statement reads the same state.
var Snapshot = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// Rollback rolls back an open transaction on a connection after a failed step,
// within its own deadline.
func Rollback(conn *pgxpool.Conn) {
	if conn.Conn().IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = conn.Exec(ctx, "rollback") // if it fails, the pool closes the connection
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
