package backends

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Conn is a connection for tests to prepare and inspect a database, as its owner.
type Conn struct {
	*pgx.Conn
	URL string // of the database, as given to Connect
}

// Connect opens a connection to the database at url, as its owner, until the test ends.
func Connect(t testing.TB, url string) *Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), Owner(url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return &Conn{conn, url}
}

// Do runs a statement.
func (c *Conn) Do(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// Count runs a query that returns one number.
func (c *Conn) Count(t testing.TB, sql string, args ...any) (n int64) {
	t.Helper()
	if err := c.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
