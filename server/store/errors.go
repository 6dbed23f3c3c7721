package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// SQLSTATEs that decide what happens next.
const (
	stateSerialization = "40001"
	stateDeadlock      = "40P01"
	stateLockTimeout   = "55P03"
	stateUnique        = "23505"
	stateCheck         = "23514"
)

// retryAfterOutage is what callers are told to wait while PostgreSQL is away.
const retryAfterOutage = time.Second

// state returns the SQLSTATE in err's chain, or "".
func state(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// mayRunAgain reports whether a batch that failed with err is worth running
// again as it is: a lost race, a lock that others held too long (a board that
// is being frozen, a partition that is being detached), a period that nobody
// had made, or a lost connection, after which it is unknown whether COMMIT took
// effect. Running it again, locks and look-up included, finds out.
func mayRunAgain(err error) bool {
	switch state(err) {
	case stateSerialization, stateDeadlock, stateUnique, stateLockTimeout:
		return true
	}
	var missing *missingInstance
	return errors.As(err, &missing) || partitionMoved(err) || connectionLost(err)
}

// partitionMoved reports whether a row was refused because a partition was
// attached between its routing and its writing: the default partition then no
// longer takes it. Of check violations, only a partition's has no name.
func partitionMoved(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == stateCheck && pg.ConstraintName == ""
}

// connectionLost reports whether err came from the connection instead of from
// the server's answer, or is the server's word that it is going away.
func connectionLost(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	s := state(err)
	return s == "" || strings.HasPrefix(s, "08") || strings.HasPrefix(s, "57P")
}

// translate turns err into what callers branch on: unavailable for an outage
// or a time-out, the error itself otherwise.
func translate(err error) error {
	if err == nil {
		return nil
	}
	var known *scoreboard.Error
	if errors.As(err, &known) {
		return err
	}
	s := state(err)
	timedOut := errors.Is(err, context.DeadlineExceeded) || s == "57014" || s == stateLockTimeout
	if timedOut || connectionLost(err) || strings.HasPrefix(s, "53") || s == stateSerialization || s == stateDeadlock {
		return &scoreboard.Error{
			Code: scoreboard.CodeUnavailable, Message: "the store is not available",
			RetryAfter: retryAfterOutage, Err: err,
		}
	}
	return err
}
