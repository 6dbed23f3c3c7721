package pg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/scoreboard/scoreboard/client/wire"
)

func TestOnlyOutagesAreUnavailable(t *testing.T) {
	t.Parallel()
	state := func(code string) error { return &pgconn.PgError{Code: code, Message: "m"} }
	for _, c := range []struct {
		name        string
		err         error
		unavailable bool
		retryable   bool
	}{
		{"connection reset", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, true, true},
		{"connection closed by the server", io.ErrUnexpectedEOF, true, true},
		{"connection closed", net.ErrClosed, true, true},
		{"end of stream", io.EOF, true, true},
		{"not connected", &pgconn.ConnectError{Config: &pgconn.Config{}}, true, true},
		{"admin shutdown", state("57P01"), true, true},
		{"too many connections", state("53300"), true, false},
		{"disk full", state("53100"), true, false},
		{"could not write init file", state("XX000"), true, false},
		{"read-only", state("25006"), true, false},
		{"in a failed transaction", state("25P02"), false, false},
		{"idle in a transaction for too long", state("25P03"), true, true},
		{"input or output error", state("58030"), true, false},
		{"damaged index", state("XX002"), true, false},
		{"the database was dropped", state("57P04"), true, false},
		{"deadlock", state(DeadlockDetected), true, true},
		{"statement timeout", state("57014"), true, false},
		{"our own deadline", context.DeadlineExceeded, true, false},
		{"value that cannot be scanned", pgx.ScanArgError{Err: errors.New("cannot scan infinity")}, false, false},
		{"error of our own", errors.New("the current instance does not exist"), false, false},
		{"division by zero", state("22012"), false, false},
	} {
		err := fmt.Errorf("record 3 increments: %w", c.err)
		if got := wire.CodeOf(Translate(err)) == wire.CodeUnavailable; got != c.unavailable {
			t.Errorf("%s: unavailable %t, want %t", c.name, got, c.unavailable)
		}
		if got := Retryable(err); got != c.retryable {
			t.Errorf("%s: retryable %t, want %t", c.name, got, c.retryable)
		}
	}
}
