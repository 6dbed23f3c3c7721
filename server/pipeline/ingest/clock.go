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
	clockRetry    = time.Second      // the least between two
	clockMaxTrip  = 250 * time.Millisecond
	clockWarn     = time.Second // a larger difference is logged
	// clockStep is by how much the system clock and the monotonic timer must have moved apart since a measurement for
	// the next one to be due at once: the system clock was set, or the timer stopped while the machine was suspended.
	clockStep = 500 * time.Millisecond
)

// Clock is the database's clock as this process knows it: the time that it measured, and what the monotonic timer has
// counted since. So it does not follow a change of the system clock. An increment that is accepted now and recorded
// later belongs to the period of its acceptance, and all processes must agree on it.
type Clock struct {
	read        func(ctx context.Context) (time.Time, error)
	log         *slog.Logger
	measured    atomic.Pointer[measurement] // nil before the first one
	due         chan struct{}               // has an element if the next measurement is due at once
	offsetGauge *metric.Expiring
}

// measurement is one moment on three clocks: that of the database, that of the system, and the monotonic timer.
type measurement struct{ database, system, timer time.Time }

// NewClock returns a clock that measures the difference with read; Run starts it.
// Before the first measurement it is this process's own clock.
func NewClock(read func(ctx context.Context) (time.Time, error), log *slog.Logger) *Clock {
	return &Clock{read: read, log: log, due: make(chan struct{}, 1), offsetGauge: metric.NewGauge(prometheus.GaugeOpts{
		Name: "scoreboard_clock_offset_seconds", Help: "The database's clock minus this process's.",
	})}
}

// Collectors returns the metrics, for registration.
func (c *Clock) Collectors() []prometheus.Collector { return []prometheus.Collector{c.offsetGauge} }

// Now returns the database's time, to within half a round trip, without waiting for the database. After the machine was
// suspended, it is late until Run has measured again.
func (c *Clock) Now() time.Time {
	m, now := c.measured.Load(), time.Now()
	if m == nil {
		return now
	}
	passed := now.Sub(m.timer)
	if (now.Round(0).Sub(m.system) - passed).Abs() > clockStep {
		select {
		case c.due <- struct{}{}:
		default:
		}
	}
	return m.database.Add(passed)
}

// Latest measures the difference again, and returns the later of the database's time and
// this process's: a time after it is in the future for both.
func (c *Clock) Latest(ctx context.Context) time.Time {
	c.measure(ctx)
	if own := time.Now(); own.After(c.Now()) {
		return own
	}
	return c.Now()
}

// Run measures until ctx ends. While the database does not answer, the last measurement stays in force.
func (c *Clock) Run(ctx context.Context) error {
	for {
		c.measure(ctx)
		select {
		case <-time.After(clockRetry):
		case <-ctx.Done():
			return nil
		}
		if c.measured.Load() == nil {
			continue
		}
		select {
		case <-time.After(clockInterval - clockRetry):
		case <-c.due:
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *Clock) measure(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, clockMaxTrip)
	defer cancel()
	before := time.Now()
	at, err := c.read(ctx)
	trip := time.Since(before)
	if err != nil || trip > clockMaxTrip {
		return
	}
	timer := before.Add(trip / 2)
	m := &measurement{database: at, system: timer.Round(0), timer: timer}
	offset, was := m.offset(), time.Duration(0)
	if last := c.measured.Swap(m); last != nil {
		was = last.offset()
	}
	if offset.Abs() > clockWarn && (offset-was).Abs() > clockWarn {
		c.log.Warn("this machine's clock differs from the database's, which is used", "offset", offset)
	}
	c.offsetGauge.Set(offset.Seconds())
}

// offset is by how much the database's clock is ahead of the system clock.
func (m *measurement) offset() time.Duration { return m.database.Sub(m.system) }
