package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/metric"
)

// StandingsTable is the standings in the store.
type StandingsTable interface {
	// Update applies the next changes, and returns how many, and whether there are more.
	Update(ctx context.Context) (changes int64, more bool, err error)
	Age(ctx context.Context) (time.Duration, error)
}

const (
	standingsInterval = time.Second
	standingsLease    = "standings"
	standingsLeaseTTL = 10 * time.Second
)

// Standings updates the standings.
type Standings struct {
	table StandingsTable
	job   *Job

	changes, failures prometheus.Counter
	age               *metric.Expiring
}

// NewStandings returns Standings; Run starts it.
func NewStandings(t StandingsTable, r *Runner) *Standings {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_standings_" + name, Help: help})
	}
	u := &Standings{
		table:    t,
		changes:  counter("changes_total", "Changes of scores that are in the standings."),
		failures: counter("failures_total", "Updates of the standings that failed; the next one continues."),
		age: metric.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_standings_age_seconds",
			Help: "Age of the standings in PostgreSQL, which answer reads while Redis cannot.",
		}),
	}
	u.job = r.NewJob(JobOptions{
		Name: standingsLease, TTL: standingsLeaseTTL, Interval: standingsInterval, Idle: u.observeAge,
		Failure: "standings not updated", Level: slog.LevelWarn, Failures: u.failures,
	})
	return u
}

// Collectors returns the metrics to register.
func (u *Standings) Collectors() []prometheus.Collector {
	return []prometheus.Collector{u.changes, u.failures, u.age}
}

// Run updates the standings until ctx ends, while it holds the lease.
func (u *Standings) Run(ctx context.Context) error {
	return u.job.Run(ctx, u.run)
}

func (u *Standings) run(ctx context.Context) error {
	err := u.update(ctx)
	if errors.Is(err, ErrLost) {
		return err // the age is observed without the lease, too
	}
	return errors.Join(err, u.observeAge(ctx))
}

// observeAge measures the age.
func (u *Standings) observeAge(ctx context.Context) error {
	age, err := u.table.Age(ctx)
	if err == nil {
		u.age.Set(age.Seconds())
	}
	return err
}

// update applies all changes there are.
func (u *Standings) update(ctx context.Context) error {
	for more := true; more; {
		err := u.job.Keep(ctx)
		if err != nil {
			return err
		}
		var n int64
		n, more, err = u.table.Update(ctx)
		if err != nil {
			return err
		}
		u.changes.Add(float64(n))
	}
	return nil
}
