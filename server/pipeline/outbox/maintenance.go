package outbox

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Partitions is the outbox as Maintenance sees it. Several processes may call
// it at once: one makes the change, and the others find nothing to do.
type Partitions interface {
	MakePartitions(ctx context.Context) (made int, err error)
	DropPartitions(ctx context.Context) (dropped int, err error)
	OutboxStatus(ctx context.Context) (*scoreboard.OutboxStatus, error)
}

// Maintenance creates partitions ahead of the writers, drops those that every
// cursor has passed, and measures the backlog.
type Maintenance struct {
	partitions Partitions
	log        *slog.Logger

	depth, oldest, attempts, horizon, count *metric.Expiring
}

// Writers never wait for a partition: rows without one go to the default
// partition.
const (
	measureInterval    = 5 * time.Second
	partitionInterval  = time.Minute
	maintenanceTimeout = 10 * time.Second // of one round
)

// NewMaintenance returns the maintenance; Run starts it.
func NewMaintenance(p Partitions, log *slog.Logger) *Maintenance {
	metric := func(name, help string, labels ...string) *metric.Expiring {
		return metric.NewGauge(prometheus.GaugeOpts{Name: "scoreboard_outbox_" + name, Help: help}, labels...)
	}
	return &Maintenance{
		partitions: p, log: log,
		depth:    metric("depth_rows", "Rows waiting to be published, counted up to a million.", "shard"),
		oldest:   metric("oldest_age_seconds", "Age of the oldest row waiting to be published.", "shard"),
		attempts: metric("attempts", "Failed attempts to publish the row after the cursor.", "shard"),
		horizon: metric("horizon_age_seconds",
			"Age of the oldest running write transaction; rows after it are not published yet."),
		count: metric("partitions", "Partitions of the outbox."),
	}
}

// Collectors returns the metrics, for registration.
func (m *Maintenance) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.depth, m.oldest, m.attempts, m.horizon, m.count}
}

// Run maintains the outbox until ctx ends.
func (m *Maintenance) Run(ctx context.Context) error {
	measure, change := time.NewTicker(measureInterval), time.NewTicker(partitionInterval)
	defer measure.Stop()
	defer change.Stop()
	for due := true; ; {
		err := m.runOnce(ctx, due)
		if err != nil && ctx.Err() == nil {
			m.log.Warn("outbox maintenance failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-measure.C:
			due = due && err != nil // a change that could not get its lock is retried soon
		case <-change.C:
			due = true
		}
	}
}

// runOnce measures the backlog. If changeDue it first changes the partitions.
func (m *Maintenance) runOnce(ctx context.Context, changeDue bool) error {
	ctx, cancel := context.WithTimeout(ctx, maintenanceTimeout)
	defer cancel()
	var errs []error
	if changeDue {
		made, err := m.partitions.MakePartitions(ctx)
		errs = append(errs, err)
		dropped, err := m.partitions.DropPartitions(ctx)
		errs = append(errs, err)
		if made+dropped > 0 {
			m.log.Info("outbox partitions changed", "created", made, "dropped", dropped)
		}
	}
	status, err := m.partitions.OutboxStatus(ctx)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, s := range status.Shards {
		shard := strconv.Itoa(s.Shard)
		m.depth.Set(float64(s.Depth), shard)
		m.oldest.Set(s.OldestAge.Seconds(), shard)
		m.attempts.Set(float64(s.Attempts), shard)
	}
	m.horizon.Set(status.HorizonAge.Seconds())
	m.count.Set(float64(len(status.Partitions)))
	return errors.Join(errs...)
}
