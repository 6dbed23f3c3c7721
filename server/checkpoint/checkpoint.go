// Package checkpoint makes checkpoints of standings, by which the board at a moment is read
// fast, and samples ranks once an hour, in one process at a time.
//
// Promise: while one process with the role maintenance runs, at most so many events lie
// between a checkpoint of a board and the next one, plus those of a pass.
//
// Assumption: the store never reads a checkpoint that is not complete.
//
// On failure: reads take longer, and the next run makes the checkpoint. Samples of an hour in which
// no process ran are missing. Two processes at once,
// after a lease was lost, delete each other's unfinished checkpoints, and make them again.
package checkpoint

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/leased"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Moments are the past standings in the store.
type Moments interface {
	// Count counts what was recorded, and returns the boards of which a checkpoint is due at
	// a time.
	Count(ctx context.Context, events int64) (due []scoreboard.BoardID, at time.Time, err error)
	// Make stores a checkpoint, and calls next before each of its transactions.
	Make(
		ctx context.Context, board scoreboard.BoardID, at time.Time, next func(context.Context) error,
	) (users int64, err error)
	// Unsampled returns the boards of which a sample of ranks is due at an hour.
	Unsampled(ctx context.Context, hour time.Time) ([]scoreboard.BoardID, error)
	// Sample samples the ranks of a board at an hour, once.
	Sample(ctx context.Context, board scoreboard.BoardID, hour time.Time) error
	DeleteOld(ctx context.Context, keep time.Duration) (deleted int64, err error)
	Summarize(ctx context.Context) error
}

const (
	interval  = 10 * time.Second
	leaseName = "checkpoints"
	leaseTTL  = 30 * time.Second
	// makeTimeout bounds one checkpoint: its snapshot keeps dead rows from being vacuumed.
	makeTimeout = 5 * time.Minute
	// samplePass is how long a run begins samples: the next one continues.
	samplePass = time.Minute
)

// Options are the settings of a Worker.
type Options struct {
	Owner  string        // names this process in the lease
	Events int64         // after so many events a board that changed gets a checkpoint
	Keep   time.Duration // for which moments checkpoints are kept
	Log    *slog.Logger
}

// Worker makes checkpoints.
type Worker struct {
	o       Options
	moments Moments
	job     leased.Job
	sampled time.Time // the hour of which all samples are made

	users    prometheus.Counter
	seconds  prometheus.Histogram
	failures prometheus.Counter
}

// New returns a Worker; Run starts it.
func New(o Options, m Moments, l leased.Leases) *Worker {
	return &Worker{
		o: o, moments: m,
		job: leased.Job{
			Leases: l, Name: leaseName, Owner: o.Owner, Life: leaseTTL, Interval: interval, Log: o.Log,
		},
		users: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_checkpoint_users_total", Help: "Standings in the checkpoints that were made.",
		}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "scoreboard_checkpoint_seconds", Help: "Time to make a checkpoint of one board.",
			Buckets: []float64{.01, .1, 1, 10, 100},
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_checkpoint_failures_total",
			Help: "Runs that failed; the next one makes what is missing.",
		}),
	}
}

// Collectors returns the metrics to register.
func (w *Worker) Collectors() []prometheus.Collector {
	return []prometheus.Collector{w.users, w.seconds, w.failures}
}

// Run makes checkpoints until ctx ends, while it holds the lease.
func (w *Worker) Run(ctx context.Context) error {
	return w.job.Run(ctx, w.run, func(err error) {
		w.failures.Inc()
		w.o.Log.Warn("checkpoints or samples of ranks not made", "err", err)
	})
}

func (w *Worker) run(ctx context.Context) error {
	if err := w.job.Keep(ctx); err != nil {
		return err
	}
	if err := w.moments.Summarize(ctx); err != nil {
		return err
	}
	if _, err := w.moments.DeleteOld(ctx, w.o.Keep); err != nil {
		return err
	}
	due, at, err := w.moments.Count(ctx, w.o.Events)
	if err != nil {
		return err
	}
	for i := 0; err == nil && i < len(due); i++ {
		err = w.makeOne(ctx, due[i], at)
	}
	return errors.Join(err, w.sample(ctx, at.UTC().Truncate(time.Hour)))
}

// sample samples the ranks of each board that has none at an hour. One that cannot be read is not
// read again at the same hour.
func (w *Worker) sample(ctx context.Context, hour time.Time) error {
	if !hour.After(w.sampled) {
		return nil
	}
	boards, err := w.moments.Unsampled(ctx, hour)
	until := time.Now().Add(samplePass)
	for i := 0; err == nil && i < len(boards); i++ {
		if time.Now().After(until) {
			return nil
		}
		if err = w.job.Keep(ctx); err == nil {
			err = w.moments.Sample(ctx, boards[i], hour)
		}
	}
	if err == nil {
		w.sampled = hour
	}
	return err
}

func (w *Worker) makeOne(ctx context.Context, board scoreboard.BoardID, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, makeTimeout)
	defer cancel()
	began := time.Now()
	users, err := w.moments.Make(ctx, board, at, w.job.Keep)
	if err != nil {
		return err
	}
	w.users.Add(float64(users))
	w.seconds.Observe(time.Since(began).Seconds())
	w.o.Log.Debug("checkpoint made", "board", board, "users", users, "elapsed", time.Since(began))
	return nil
}
