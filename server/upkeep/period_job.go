package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	periodInterval = time.Second
	periodLeaseTTL = 10 * time.Second
)

// PeriodJob does once what is due after the end of each period.
type PeriodJob struct {
	periodWork
	job *Job
	log *slog.Logger
}

// periodWork is what a PeriodJob does.
type periodWork struct {
	lease string
	// due lists periods for which it is not done, the earliest end first.
	due func(ctx context.Context) ([]scoreboard.DuePeriod, error)
	// end does it in transactions of size rows, calls next before each, and returns how much was done.
	end func(
		ctx context.Context, id scoreboard.BoardID, size int, next func(context.Context) error,
	) (done int64, err error)
	size    int
	ended   string // the message for a period, with what was done as the attribute of this name
	counted string
	failure string

	done, failures prometheus.Counter
	late           *metric.Expiring // seconds since the end of the oldest period that is due
}

func newPeriodJob(runner *Runner, w periodWork) *PeriodJob {
	p := &PeriodJob{periodWork: w, log: runner.log}
	p.job = runner.NewJob(JobOptions{
		Name: w.lease, TTL: periodLeaseTTL, Interval: periodInterval, Idle: p.idle,
		Failure: w.failure, Level: slog.LevelWarn, Failures: w.failures,
	})
	return p
}

// Collectors returns the metrics to register.
func (p *PeriodJob) Collectors() []prometheus.Collector {
	return []prometheus.Collector{p.done, p.failures, p.late}
}

// Run does what is due every second until ctx ends, while it holds the lease.
func (p *PeriodJob) Run(ctx context.Context) error { return p.job.Run(ctx, p.endAll) }

// idle reports nothing late: the holder of the lease does.
func (p *PeriodJob) idle(context.Context) error {
	p.late.Set(0)
	return nil
}

// endAll does what is due for all periods. One that fails delays no other.
func (p *PeriodJob) endAll(ctx context.Context) error {
	due, err := p.due(ctx)
	if err != nil {
		return err
	}
	p.late.Set(0)
	if len(due) > 0 {
		p.late.Set(max(0, due[0].Since.Seconds()))
	}
	var errs []error
	for i := range due {
		began := time.Now()
		done, err := p.end(ctx, due[i].Board, p.size, p.job.Keep)
		p.done.Add(float64(done))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p.log.Info(p.ended, "board", due[i].Board, p.counted, done, "elapsed", time.Since(began))
	}
	return errors.Join(errs...)
}
