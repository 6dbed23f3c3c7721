package piece

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// retryAfterOutage is the Retry-After sent to callers while Redis is unavailable.
const retryAfterOutage = time.Second

// notNow are the prefixes of what Redis answers while it cannot serve us: it starts, fails over,
// moves slots, is out of memory, disk or connections, or has another password; without "ERR ".
var notNow = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED ", "ASK ", "NOREPLICAS", "MISCONF", "OOM",
	"BUSY ", "max number of clients", "NOAUTH", "WRONGPASS",
}

// notConnected are parts of the client's own errors while it has no server to ask. They have no type.
var notConnected = []string{
	"redis: all sentinels", "redis: cluster has no nodes", "redis: connection", // unusable, or not one is left
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
	var certificate *tls.CertificateVerificationError
	var notTLS tls.RecordHeaderError
	return errors.As(err, &network) || errors.As(err, &certificate) || errors.As(err, &notTLS) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, redis.ErrClosed) ||
		errors.Is(err, redis.ErrPoolTimeout) ||
		slices.ContainsFunc(notNow, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) }) ||
		slices.ContainsFunc(notConnected, func(part string) bool { return strings.Contains(err.Error(), part) })
}

// Unavailable is the error of what may succeed if it is repeated.
func Unavailable(message string, err error) *scoreboard.Error {
	return &scoreboard.Error{
		Code: wire.CodeUnavailable, Message: message, RetryAfter: retryAfterOutage, Err: err,
	}
}
