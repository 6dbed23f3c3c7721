package outbox

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Partitions is the outbox as its upkeep sees it. Both changes are done by
// whoever comes first; the others find nothing to do.
type Partitions interface {
	MakePartitions(ctx context.Context) (made int, err error)
	DropPartitions(ctx context.Context) (dropped int, err error)
	OutboxStatus(ctx context.Context) (*scoreboard.OutboxStatus, error)
}

// Upkeep makes partitions ahead of the writers, drops them behind the slowest
// cursor, and measures what waits.
type Upkeep struct {
	partitions Partitions
	log        *slog.Logger

	depth, oldest, attempts *prometheus.GaugeVec
	horizon, count          prometheus.Gauge
}

// The writers never wait for a partition: the default one takes what has none.
const (
	measureEvery   = 5 * time.Second
	partitionEvery = time.Minute
	upkeepBudget   = 10 * time.Second // of one look
)

// NewUpkeep makes the upkeep; Run starts it.
func NewUpkeep(p Partitions, log *slog.Logger) *Upkeep {
	perShard := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "scoreboard_outbox_" + name, Help: help}, []string{"shard"})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "scoreboard_outbox_" + name, Help: help})
	}
	return &Upkeep{
		partitions: p, log: log,
		depth:    perShard("depth_rows", "Rows that wait to be published, counted up to a million."),
		oldest:   perShard("oldest_age_seconds", "How long the first of them has waited."),
		attempts: perShard("attempts", "How often the row behind the cursor was tried in vain."),
		horizon:  gauge("horizon_age_seconds", "How long the oldest writing transaction has been running: nothing behind it is published."),
		count:    gauge("partitions", "Partitions of the outbox."),
	}
}

// Collectors are what the root registers.
func (u *Upkeep) Collectors() []prometheus.Collector {
	return []prometheus.Collector{u.depth, u.oldest, u.attempts, u.horizon, u.count}
}

// Run keeps until ctx ends.
func (u *Upkeep) Run(ctx context.Context) error {
	measure, change := time.NewTicker(measureEvery), time.NewTicker(partitionEvery)
	defer measure.Stop()
	defer change.Stop()
	for due := true; ; {
		err := u.once(ctx, due)
		if err != nil && ctx.Err() == nil {
			u.log.Warn("outbox not kept", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-measure.C:
			due = due && err != nil // what had to wait for a lock is tried again soon
		case <-change.C:
			due = true
		}
	}
}

// once measures, and where it is due changes partitions.
func (u *Upkeep) once(ctx context.Context, due bool) error {
	ctx, cancel := context.WithTimeout(ctx, upkeepBudget)
	defer cancel()
	var errs []error
	if due {
		made, err := u.partitions.MakePartitions(ctx)
		errs = append(errs, err)
		dropped, err := u.partitions.DropPartitions(ctx)
		errs = append(errs, err)
		if made+dropped > 0 {
			u.log.Info("partitions changed", "made", made, "dropped", dropped)
		}
	}
	status, err := u.partitions.OutboxStatus(ctx)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, s := range status.Shards {
		shard := strconv.Itoa(s.Shard)
		u.depth.WithLabelValues(shard).Set(float64(s.Depth))
		u.oldest.WithLabelValues(shard).Set(s.OldestAge.Seconds())
		u.attempts.WithLabelValues(shard).Set(float64(s.Attempts))
	}
	u.horizon.Set(status.HorizonAge.Seconds())
	u.count.Set(float64(len(status.Partitions)))
	return errors.Join(errs...)
}
