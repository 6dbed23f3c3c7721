// Package standings updates the table standings from the outbox, in one process at a
// time, about once a second: changes of one score in that second cost one update.
//
// Promise: while one process with the role maintenance runs, reads without Redis are
// about two seconds behind the commit, and say so.
//
// Assumption: the store moves cursors with what they stand for, so that a process that
// dies or loses its lease while it works leaves standings behind, not wrong.
//
// On failure: the next run continues. The age of the standings is a metric of every
// process with the role, so that it is also seen if no process updates them.
package standings

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/gauge"
	"github.com/scoreboard/scoreboard/internal/leased"
)

// Table is the standings in the store.
type Table interface {
	// Update applies the next changes, and returns how many, and whether there are more.
	Update(ctx context.Context) (changes int64, more bool, err error)
	Age(ctx context.Context) (time.Duration, error)
}

const (
	interval  = time.Second
	leaseName = "standings"
	leaseTTL  = 10 * time.Second
)

// Updater updates the standings.
type Updater struct {
	table Table
	job   leased.Job
	log   *slog.Logger

	changes, failures prometheus.Counter
	age               *gauge.Expiring
}

// New returns an Updater; Run starts it. owner names this process in the lease.
func New(owner string, t Table, l leased.Leases, log *slog.Logger) *Updater {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_standings_" + name, Help: help})
	}
	return &Updater{
		table: t, log: log,
		job: leased.Job{
			Leases: l, Name: leaseName, Owner: owner, Life: leaseTTL, Interval: interval, Log: log,
		},
		changes:  counter("changes_total", "Changes of scores that are in the standings."),
		failures: counter("failures_total", "Updates of the standings that failed; the next one continues."),
		age: gauge.New(prometheus.GaugeOpts{
			Name: "scoreboard_standings_age_seconds",
			Help: "Age of the standings in PostgreSQL, which answer reads while Redis cannot.",
		}),
	}
}

// Collectors returns the metrics to register.
func (u *Updater) Collectors() []prometheus.Collector {
	return []prometheus.Collector{u.changes, u.failures, u.age}
}

// Run updates the standings until ctx ends, while it holds the lease.
func (u *Updater) Run(ctx context.Context) error {
	return u.job.Run(ctx, u.run, func(err error) {
		u.failures.Inc()
		u.log.Warn("standings not updated", "err", err)
	})
}

func (u *Updater) run(ctx context.Context) error {
	err := u.update(ctx)
	age, ageErr := u.table.Age(ctx)
	if ageErr == nil {
		u.age.Set(age.Seconds())
	}
	if err == nil {
		err = ageErr
	}
	return err
}

// update applies all changes there are, if this process gets the lease.
func (u *Updater) update(ctx context.Context) error {
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
