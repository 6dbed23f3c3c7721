package piece

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// retryAfterOutage is the Retry-After sent to callers while Redis is unavailable.
const retryAfterOutage = time.Second

// notNow are the prefixes of what Redis answers while it cannot serve anyone: it
// starts, fails over, or is out of memory, disk or connections; without "ERR ".
var notNow = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "MISCONF", "OOM", "BUSY ",
	"max number of clients",
}

// Translate converts the error of a call to Redis to what callers branch on:
// unavailable for an outage or a timeout, otherwise the error itself.
func Translate(err error) error {
	var known *scoreboard.Error
	if err == nil || errors.As(err, &known) || !outage(err) {
		return err
	}
	return Unavailable("the ranking is unavailable", err)
}

func outage(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, redis.ErrClosed) ||
		errors.Is(err, redis.ErrPoolTimeout) ||
		slices.ContainsFunc(notNow, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
}

// Unavailable is the error of what may succeed if it is repeated.
func Unavailable(message string, err error) *scoreboard.Error {
	return &scoreboard.Error{
		Code: wire.CodeUnavailable, Message: message, RetryAfter: retryAfterOutage, Err: err,
	}
}
