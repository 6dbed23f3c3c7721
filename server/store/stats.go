package store

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/metric"
)

// Stats measures, for alerts, the PostgreSQL server: its replicas, connections and size.
type Stats struct {
	store *Store
	log   *slog.Logger

	replicas, lag, connections, limit, size *metric.Expiring
}

// NewStats returns a Stats; Run measures.
func NewStats(s *Store, log *slog.Logger) *Stats {
	metric := func(name, help string, labels ...string) *metric.Expiring {
		return metric.NewGauge(prometheus.GaugeOpts{Name: "scoreboard_postgres_" + name, Help: help}, labels...)
	}
	return &Stats{
		store: s, log: log,
		replicas: metric("replicas", "Replicas that stream from the PostgreSQL server."),
		lag: metric("replica_lag_seconds", "How far a replica is behind in applying changes. Missing if the owner "+
			"of the schema is not a member of pg_monitor.", "replica"),
		connections: metric("server_connections", "Connections to the PostgreSQL server, from all its clients."),
		limit:       metric("server_connections_limit", "The PostgreSQL server's max_connections."),
		size:        metric("database_bytes", "Size of the database on disk."),
	}
}

// Collectors returns the metrics, for registration.
func (m *Stats) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.replicas, m.lag, m.connections, m.limit, m.size}
}

const (
	statsInterval = 10 * time.Second
	statsTimeout  = 5 * time.Second
)

// Run measures until ctx ends.
func (m *Stats) Run(ctx context.Context) error {
	tick := time.NewTicker(statsInterval)
	defer tick.Stop()
	for {
		if err := m.measure(ctx); err != nil && ctx.Err() == nil {
			m.log.Warn("PostgreSQL statistics not read", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (m *Stats) measure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, statsTimeout)
	defer cancel()
	var connections, limit, size, replicas float64
	var names []string
	var lags []*float64
	b := &pgx.Batch{}
	b.Queue(`select (select count(*) from pg_stat_activity where backend_type = 'client backend'),
    current_setting('max_connections')::int, pg_database_size(current_database())`).QueryRow(func(row pgx.Row) error {
		return row.Scan(&connections, &limit, &size)
	})
	b.Queue(`select count(*), coalesce(array_agg(replica), '{}'), coalesce(array_agg(behind), '{}')
from replica_lags()`).QueryRow(func(row pgx.Row) error { return row.Scan(&replicas, &names, &lags) })
	if err := m.store.db.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("read the statistics of PostgreSQL: %w", err)
	}
	m.connections.Set(connections)
	m.limit.Set(limit)
	m.size.Set(size)
	m.replicas.Set(replicas)
	for i, lag := range lags {
		if lag != nil {
			m.lag.Set(*lag, names[i])
		}
	}
	return nil
}
