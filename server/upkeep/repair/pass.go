package repair

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Tasks assigns a task to one of several processes.
type Tasks interface {
	// Claim reports whether the caller is the first to claim the task
	// within ttl.
	Claim(ctx context.Context, task string, ttl time.Duration) (bool, error)
	ReleaseClaim(ctx context.Context, task string) error
}

// Pass compares every user of every board with the store at an interval, in one
// process at a time. Unlike the sampler it also finds users that are ranked but
// have no score.
type Pass struct {
	interval time.Duration
	check    Check
	catalog  Catalog
	tasks    Tasks
	halted   func() bool
	log      *slog.Logger

	passes, checked, drift, repaired prometheus.Counter
	duration                         prometheus.Gauge
}

const passTask = "reconcile"

// NewPass returns a Pass that repairs what it finds if check.Repair is set.
// halted is as in NewSampler.
func NewPass(
	interval time.Duration, check Check, c Catalog, t Tasks, halted func() bool, log *slog.Logger,
) *Pass {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_reconcile_pass_" + name, Help: help})
	}
	return &Pass{
		interval: interval, check: check, catalog: c, tasks: t, halted: halted, log: log,
		passes:   counter("total", "Completed full comparisons."),
		checked:  counter("checked_total", "Users compared by full comparisons."),
		drift:    counter("drift_total", "Differences found by full comparisons."),
		repaired: counter("repaired_total", "Differences repaired by full comparisons."),
		duration: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_reconcile_pass_seconds", Help: "Duration of the last full comparison.",
		}),
	}
}

// Collectors returns the metrics to register.
func (p *Pass) Collectors() []prometheus.Collector {
	return []prometheus.Collector{p.passes, p.checked, p.drift, p.repaired, p.duration}
}

// Run makes a pass whenever this process claims the task, until ctx ends. The
// first is due one interval after the start.
func (p *Pass) Run(ctx context.Context) error {
	tick := time.NewTicker(max(min(p.interval/10, time.Minute), 10*time.Millisecond))
	defer tick.Stop()
	started := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if p.halted() || time.Since(started) < p.interval {
			continue
		}
		claimed, err := p.tasks.Claim(ctx, passTask, p.interval)
		if err == nil && claimed {
			err = p.checkAll(ctx)
		}
		if err != nil && ctx.Err() == nil {
			p.log.Warn("full comparison failed", "err", err)
		}
	}
}

// checkAll compares all users. It leaves boards that are being rebuilt to the
// next pass.
func (p *Pass) checkAll(ctx context.Context) error {
	boards, err := RankedBoards(ctx, p.catalog)
	if err != nil {
		return errors.Join(err, p.tasks.ReleaseClaim(ctx, passTask))
	}
	started := time.Now()
	var sum VerifyResult
	for i := range boards {
		v, err := p.check.Run(ctx, boards[i:i+1])
		if errors.Is(err, scoreboard.ErrNotLoaded) {
			continue
		}
		if err != nil {
			// Released, so that another process can try at once. If Redis is
			// unreachable, the claim expires.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			return errors.Join(err, p.tasks.ReleaseClaim(ctx, passTask))
		}
		sum.Users += v.Users
		sum.DifferenceCount += v.DifferenceCount
		sum.Repaired += v.Repaired
		for _, d := range v.Differences {
			p.log.Error(
				"ranking differs from PostgreSQL",
				"board",
				d.Board,
				"user",
				d.User,
				"kind",
				d.Kind,
				"detail",
				d.Detail,
			)
		}
	}
	p.passes.Inc()
	p.checked.Add(float64(sum.Users))
	p.drift.Add(float64(sum.DifferenceCount))
	p.repaired.Add(float64(sum.Repaired))
	p.duration.Set(time.Since(started).Seconds())
	p.log.Info("full comparison completed", "users", sum.Users, "differences", sum.DifferenceCount,
		"repaired", sum.Repaired, "elapsed", time.Since(started))
	return nil
}
