package repair

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep"
)

// Pass compares every user of every board with the store at an interval, in one
// process at a time. Unlike the sampler it also finds users that are ranked but
// have no score.
type Pass struct {
	check   Check
	catalog Catalog
	halted  func() bool
	job     *upkeep.Job
	log     *slog.Logger

	passes, checked, drift, repaired prometheus.Counter
	duration                         prometheus.Gauge
}

const (
	passJob     = "reconcile"
	passLease   = 30 * time.Second
	passMaxRun  = 24 * time.Hour
	passRetries = 10 // in an interval, at least one a minute
	// passDelay gives a process that starts time to rebuild what must be, before it compares.
	passDelay = time.Minute
)

// NewPass returns a Pass that repairs what it finds if check.Repair is set. A pass is due an interval
// after the last one of any process, by runs. halted is as in NewSampler. As with the sampler, a ranking
// that only waits for changes is no drift.
func NewPass(
	interval time.Duration, check Check, c Catalog, halted func() bool, r *upkeep.Runner, runs upkeep.RunStore,
	log *slog.Logger,
) *Pass {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_reconcile_pass_" + name, Help: help})
	}
	check.AllowLag = true
	return &Pass{
		check: check, catalog: c, halted: halted, log: log,
		job: r.NewJob(upkeep.JobOptions{
			Name: passJob, TTL: passLease, Interval: interval, First: min(interval, passDelay),
			MaxRun: passMaxRun, Runs: runs, Retry: min(interval/passRetries, time.Minute),
			Failure: "full comparison failed", Level: slog.LevelWarn,
		}),
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

// Status returns what the passes of this process have compared.
func (p *Pass) Status() Compared {
	return Compared{Checked: count(p.checked), Drifted: count(p.drift), Repaired: count(p.repaired)}
}

// Run makes passes until ctx ends, while this process holds the lease.
func (p *Pass) Run(ctx context.Context) error { return p.job.Run(ctx, p.checkAll) }

// errHalted delays a pass while the store must not be trusted.
var errHalted = errors.New("PostgreSQL's history is not the one that was ranked")

// checkAll compares all users. It leaves boards that are being rebuilt to the
// next pass.
func (p *Pass) checkAll(ctx context.Context) error {
	if p.halted() {
		return errHalted
	}
	boards, err := RankedBoards(ctx, p.catalog)
	if err != nil {
		return err
	}
	started := time.Now()
	var sum VerifyResult
	for i := range boards {
		v, err := p.check.Run(ctx, boards[i:i+1])
		if errors.Is(err, scoreboard.ErrNotLoaded) {
			continue
		}
		if err != nil {
			return err
		}
		sum.Users += v.Users
		sum.DifferenceCount += v.DifferenceCount
		sum.Waiting += v.Waiting
		sum.Repaired += v.Repaired
		for _, d := range v.Differences {
			p.log.Error("ranking differs from PostgreSQL",
				"board", d.Board, "user", d.User, "kind", d.Kind, "detail", d.Detail)
		}
	}
	p.passes.Inc()
	p.checked.Add(float64(sum.Users))
	p.drift.Add(float64(sum.DifferenceCount))
	p.repaired.Add(float64(sum.Repaired))
	p.duration.Set(time.Since(started).Seconds())
	p.log.Info("full comparison completed", "users", sum.Users, "differences", sum.DifferenceCount,
		"waiting", sum.Waiting, "repaired", sum.Repaired, "elapsed", time.Since(started))
	return nil
}
