package ingest

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/metric"
)

const (
	clockInterval = 10 * time.Second // between measurements
	clockRetry    = time.Second      // until the first one
	clockMaxTrip  = 250 * time.Millisecond
	clockWarn     = time.Second // a larger difference is logged
)

// Clock is the database's clock as this process knows it: its own clock, corrected by
// the difference that it measures. An increment that is accepted now and recorded
// later belongs to the period of its acceptance, and all processes must agree on it.
type Clock struct {
	read        func(ctx context.Context) (time.Time, error)
	log         *slog.Logger
	offset      atomic.Int64 // nanoseconds
	offsetGauge *metric.Expiring
}

// NewClock returns a clock that measures the difference with read; Run starts it.
// Before the first measurement it is this process's own clock.
func NewClock(read func(ctx context.Context) (time.Time, error), log *slog.Logger) *Clock {
	return &Clock{read: read, log: log, offsetGauge: metric.NewGauge(prometheus.GaugeOpts{
		Name: "scoreboard_clock_offset_seconds", Help: "The database's clock minus this process's.",
	})}
}

// Collectors returns the metrics, for registration.
func (c *Clock) Collectors() []prometheus.Collector { return []prometheus.Collector{c.offsetGauge} }

// Now returns the database's time, to within half a round trip.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// Latest measures the difference again, and returns the later of the database's time and
// this process's: a time after it is in the future for both.
func (c *Clock) Latest(ctx context.Context) time.Time {
	c.measure(ctx)
	if own := time.Now(); own.After(c.Now()) {
		return own
	}
	return c.Now()
}

// Run measures until ctx ends. While the database does not answer, the last
// difference stays in force.
func (c *Clock) Run(ctx context.Context) error {
	known := false
	for {
		known = c.measure(ctx) || known
		interval := clockInterval
		if !known {
			interval = clockRetry
		}
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *Clock) measure(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, clockMaxTrip)
	defer cancel()
	before := time.Now()
	at, err := c.read(ctx)
	trip := time.Since(before)
	if err != nil || trip > clockMaxTrip {
		return false
	}
	offset := at.Sub(before.Add(trip / 2).Round(0))
	if was := time.Duration(c.offset.Swap(int64(offset))); offset.Abs() > clockWarn && (offset-was).Abs() > clockWarn {
		c.log.Warn("this machine's clock differs from the database's, which is used", "offset", offset)
	}
	c.offsetGauge.Set(offset.Seconds())
	return true
}
