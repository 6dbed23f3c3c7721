package machine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/internal/test/backends"
)

// The transaction counts on a real PostgreSQL, and its schema is gone afterwards.
func TestTransactions(t *testing.T) {
	t.Parallel()
	url := backends.Postgres(t, nil)
	rate, err := Transactions(t.Context(), url, 5*time.Second) // on a busy machine, each caller connects first
	if err != nil || rate <= 0 {
		t.Fatalf("got %v/s and %v", rate, err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var left int
	const schemas = "select count(*) from pg_namespace where nspname like 'scoreboard_measure_%'"
	if err := conn.QueryRow(t.Context(), schemas).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d schemas are left, %v", left, err)
	}
	if _, err := Transactions(t.Context(), "postgres://127.0.0.1:1/none", time.Second); err == nil {
		t.Error("no error without a server")
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	c, err := Measure(t.Context(), "")
	if err != nil || c.HTTP < 100 || c.Transactions != 0 {
		t.Errorf("got %+v, %v", c, err)
	}
}

// The first error ends the measurement.
func TestRateEndsWithAnError(t *testing.T) {
	t.Parallel()
	began := time.Now()
	_, err := Rate(t.Context(), time.Minute, func(context.Context, string) error { return errors.New("broken") })
	if err == nil || !strings.Contains(err.Error(), "broken") || time.Since(began) > 30*time.Second {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
}
