package store

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Options are the settings of the store.
type Options struct {
	URL      string
	MaxConns int           // of the pool
	LockWait time.Duration // the longest wait for a row lock in a batch
	Timeout  time.Duration // of one statement
	Shards   int           // of the outbox
	// CloseGrace is how long after the end of a period increments still count
	// for it that were accepted before.
	CloseGrace time.Duration
	// Describe uses unnamed statements with cached descriptions instead of
	// named prepared ones, which PgBouncer in transaction mode needs.
	Describe bool
	// Trust is what increments must bear, as it is in force now; nil: nothing.
	Policy func() *scoreboard.IngestPolicy
	Log    *slog.Logger // nil: none
}

// Store is a pool of connections to the truth.
type Store struct {
	pool  *pgxpool.Pool
	o     Options
	walks *walks

	anomalies *prometheus.CounterVec
}

// Open connects lazily: an unreachable database is found by the first use.
func Open(ctx context.Context, o Options) (*Store, error) {
	c, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("read the PostgreSQL URL: %w", err)
	}
	c.MaxConns = int32(o.MaxConns)
	c.ConnConfig.ConnectTimeout = 2 * time.Second
	c.HealthCheckPeriod = 5 * time.Second
	c.MaxConnLifetimeJitter = 5 * time.Minute
	if o.Describe {
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open the PostgreSQL pool: %w", err)
	}
	return &Store{
		pool: pool, o: o, anomalies: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scoreboard_anomalies_total", Help: "Events that look wrong, by rule and what became of them.",
		}, []string{"rule", "mode"}),
		walks: newWalks(smallBoard, milestoneStep),
	}, nil
}

// Collectors are what the root registers.
func (s *Store) Collectors() []prometheus.Collector { return []prometheus.Collector{s.anomalies} }

// Close waits for connections in use and closes all.
func (s *Store) Close() { s.pool.Close() }

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.Ping(ctx); err != nil {
		return fmt.Errorf("ping PostgreSQL: %w", err)
	}
	return nil
}
