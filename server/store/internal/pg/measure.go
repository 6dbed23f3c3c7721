package pg

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/metric"
)

// The calls that a tracer measures.
const (
	callQuery   = "query"   // one statement
	callBatch   = "batch"   // several statements in one round trip
	callAcquire = "acquire" // the wait for a connection of the pool
)

// tracer measures the calls of a pool.
type tracer struct{ calls *metric.Calls }

func newTracer() *tracer {
	t := &tracer{metric.NewCalls("scoreboard_postgres_call",
		"of calls to PostgreSQL: a query, a batch, or the wait for a connection (acquire)", "call")}
	for _, call := range []string{callQuery, callBatch, callAcquire} {
		t.calls.Declare(call)
	}
	return t
}

// begunQuery and begunAcquire are keys of a context: a query may wait for a connection.
type (
	begunQuery   struct{}
	begunAcquire struct{}
)

func (t *tracer) end(ctx context.Context, key any, call string, err error) {
	if began, ok := ctx.Value(key).(time.Time); ok {
		t.calls.Observe(call, began, failed(err))
	}
}

// failed reports an error of the database or the connection to it, rather than of what
// was asked: a lost race, a row that is locked, missing or already there, a rule.
func failed(err error) bool {
	if err == nil || errors.Is(err, pgx.ErrNoRows) || errors.Is(err, context.Canceled) {
		return false
	}
	code := Code(err)
	if s, _ := stateOf(code); s.Outage {
		return true
	}
	return code == "" && (connectionLost(err) || errors.Is(err, context.DeadlineExceeded))
}

func (t *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, begunQuery{}, time.Now())
}

func (t *tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) {
	t.end(ctx, begunQuery{}, callQuery, d.Err)
}

func (t *tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return context.WithValue(ctx, begunQuery{}, time.Now())
}

func (t *tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (t *tracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchEndData) {
	t.end(ctx, begunQuery{}, callBatch, d.Err)
}

func (t *tracer) TraceAcquireStart(
	ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData,
) context.Context {
	return context.WithValue(ctx, begunAcquire{}, time.Now())
}

func (t *tracer) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, d pgxpool.TraceAcquireEndData) {
	t.end(ctx, begunAcquire{}, callAcquire, d.Err)
}

// poolMetrics are read from the pool when they are collected.
type poolMetrics struct {
	pool                        *pgxpool.Pool
	connections, limit          *prometheus.Desc
	waits, waitSeconds, created *prometheus.Desc
}

func newPoolMetrics(p *pgxpool.Pool) *poolMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("scoreboard_postgres_pool_"+name, help, labels, nil)
	}
	return &poolMetrics{
		pool:        p,
		connections: desc("connections", "Connections to PostgreSQL of this process, by state.", "state"),
		limit:       desc("limit", "Maximum number of connections of this process: postgres.max_conns."),
		waits:       desc("waits_total", "Calls that waited for a connection because none was idle."),
		waitSeconds: desc("wait_seconds_total", "Time that calls waited because no connection was idle."),
		created:     desc("opened_total", "Connections opened."),
	}
}

// Describe implements prometheus.Collector.
func (m *poolMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.connections, m.limit, m.waits, m.waitSeconds, m.created} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *poolMetrics) Collect(to chan<- prometheus.Metric) {
	s := m.pool.Stat()
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	in, idle := float64(s.AcquiredConns()), float64(s.IdleConns())
	to <- prometheus.MustNewConstMetric(m.connections, gauge, in, "in_use")
	to <- prometheus.MustNewConstMetric(m.connections, gauge, idle, "idle")
	to <- prometheus.MustNewConstMetric(m.limit, gauge, float64(s.MaxConns()))
	to <- prometheus.MustNewConstMetric(m.waits, counter, float64(s.EmptyAcquireCount()))
	to <- prometheus.MustNewConstMetric(m.waitSeconds, counter, s.EmptyAcquireWaitTime().Seconds())
	to <- prometheus.MustNewConstMetric(m.created, counter, float64(s.NewConnsCount()))
}

// Collectors returns the metrics of the pool, for registration.
func (db *DB) Collectors() []prometheus.Collector {
	return append(db.tracer.calls.Collectors(), newPoolMetrics(db.Pool))
}
