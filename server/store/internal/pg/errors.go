package pg

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// SQLSTATEs that callers branch on.
const (
	SerializationFailure = "40001"
	DeadlockDetected     = "40P01"
	LockNotAvailable     = "55P03"
	UniqueViolation      = "23505"
	duplicateTable       = "42P07"
	duplicateObject      = "42710"
	UndefinedTable       = "42P01"
	checkViolation       = "23514"
	invalidParameter     = "22023"
	ReadOnlyTransaction  = "25006"
)

// ErrLocked is a LockNotAvailable that a function has caught.
var ErrLocked error = &pgconn.PgError{Severity: "ERROR", Code: LockNotAvailable, Message: "a row is locked"}

// RetryAfterOutage is the Retry-After sent to callers while PostgreSQL is
// unavailable.
const RetryAfterOutage = time.Second

// CreatedMeanwhile reports whether a statement failed because another transaction has
// created the same table since it began: which of three codes says so is a matter of time.
func CreatedMeanwhile(err error) bool {
	switch Code(err) {
	case UniqueViolation, duplicateTable, duplicateObject:
		return true
	}
	return false
}

// DroppedMeanwhile reports whether drop_outbox_partition failed because another transaction has dropped
// the partition since it was listed.
func DroppedMeanwhile(err error) bool {
	code := Code(err)
	return code == invalidParameter || code == UndefinedTable
}

// Code returns the SQLSTATE in err's chain, or "".
func Code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Retryable reports whether a transaction that failed with err should be run again
// unchanged: it lost a race, waited too long for a lock (a board is being frozen,
// a partition detached), or lost the connection, so that the result of COMMIT is
// unknown; the next run's locks and lookups determine it. A scoreboard.Error is
// final; other errors can decide with a method Retryable.
func Retryable(err error) bool {
	var final *scoreboard.Error
	if errors.As(err, &final) {
		return false
	}
	var e interface{ Retryable() bool }
	if errors.As(err, &e) {
		return e.Retryable()
	}
	switch Code(err) {
	case SerializationFailure, DeadlockDetected, UniqueViolation, LockNotAvailable:
		return true
	}
	return PartitionMissing(err) || connectionLost(err)
}

// Retries bounds how often a transaction is repeated after a lock timeout or a lost
// connection.
const Retries = 20

// Retry repeats do while its error is retryable.
func Retry(ctx context.Context, do func() error) error { return RetryTimes(ctx, Retries, do) }

// RetryTimes runs do at most that many times, while its error is retryable.
func RetryTimes(ctx context.Context, times int, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil || try >= times || !Retryable(err) {
			return err
		}
		select {
		case <-time.After(10*time.Millisecond + rand.N(40*time.Millisecond)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// PartitionMissing reports whether a row was rejected because no partition takes
// it: there is none for its time, or one was attached between the row's routing and
// its writing, and the default partition no longer accepts it. Only this check
// violation has no constraint name.
func PartitionMissing(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == checkViolation && e.ConstraintName == ""
}

// connectionLost reports whether err came from the connection rather than from the
// server's response, or says that the server is shutting down. An error without an
// SQLSTATE is not enough: a value that cannot be encoded or scanned, and any error of
// our own, has none, and repeats as long as its row exists.
func connectionLost(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if code := Code(err); code != "" {
		s, _ := stateOf(code)
		return s.Retry
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// SQLSTATEs of a statement that another session has prepared, or this one has not: a pooler gave the
// transaction to another session.
const (
	noPrepared        = "26000"
	duplicatePrepared = "42P05"
)

// unavailable reports whether err says that the database cannot do it now.
func unavailable(err error) bool {
	var connect *pgconn.ConnectError // whatever a server says to a login
	if errors.As(err, &connect) || errors.Is(err, context.DeadlineExceeded) || connectionLost(err) {
		return true
	}
	code := Code(err)
	s, _ := stateOf(code)
	return s.Outage || code == LockNotAvailable || code == SerializationFailure || code == DeadlockDetected
}

// Translate converts err to what callers branch on: unavailable for an outage or a
// timeout, otherwise the error itself.
func Translate(err error) error {
	if err == nil {
		return nil
	}
	var known *scoreboard.Error
	if errors.As(err, &known) {
		return err
	}
	if s := Code(err); s == noPrepared || s == duplicatePrepared {
		return &scoreboard.Error{
			Code: wire.CodeUnavailable, Message: "the database is unavailable", RetryAfter: RetryAfterOutage,
			Err: &scoreboard.SetupError{
				Setting: "postgres.describe", Problem: "a pooler that does not support prepared statements, such as " +
					"PgBouncer before 1.21 or with max_prepared_statements = 0, is between the daemon and PostgreSQL",
				Fix: "set postgres.describe to true, or upgrade PgBouncer", Err: err,
			},
		}
	}
	if unavailable(err) {
		return &scoreboard.Error{
			Code: wire.CodeUnavailable, Message: "the database is unavailable",
			RetryAfter: RetryAfterOutage, Err: err,
		}
	}
	return err
}
