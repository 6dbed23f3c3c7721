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
		lag: metric("replica_lag_seconds", "How far a replica is behind in applying changes. Only a role that is a "+
			"member of pg_monitor sees it.", "replica"),
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
	// Without pg_monitor every column of a replica is null. An idle replica has no
	// replay_lag, and has applied everything that it received.
	b.Queue(`select count(*), coalesce(array_agg(coalesce(nullif(application_name, ''), client_addr::text, 'local')
    || case when dense_rank > 1 then '#' || dense_rank else '' end order by pid), '{}'),
    coalesce(array_agg(case when state is null then null when replay_lsn >= sent_lsn then 0
        else coalesce(extract(epoch from replay_lag)::float8, 0) end order by pid), '{}')
from (select *, row_number() over (partition by application_name, client_addr order by pid) as dense_rank
    from pg_stat_replication) as r`).QueryRow(func(row pgx.Row) error {
		return row.Scan(&replicas, &names, &lags)
	})
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
