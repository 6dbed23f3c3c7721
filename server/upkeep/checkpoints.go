package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// PastStandings are the past standings in the store.
type PastStandings interface {
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
	checkpointInterval = 10 * time.Second
	checkpointLease    = "checkpoints"
	checkpointLeaseTTL = 30 * time.Second
	// makeTimeout bounds one checkpoint: its snapshot keeps dead rows from being vacuumed.
	checkpointTimeout = 5 * time.Minute
	// samplePass is how long a run begins samples: the next one continues.
	samplePass = time.Minute
)

// CheckpointOptions are the settings of Checkpoints.
type CheckpointOptions struct {
	Events int64         // after this number of events a board that changed gets a checkpoint
	Keep   time.Duration // for which moments checkpoints are kept
}

// Checkpoints makes checkpoints.
type Checkpoints struct {
	o          CheckpointOptions
	pastBoards PastStandings
	job        *Job
	log        *slog.Logger
	sampled    time.Time // the hour of which all samples are made

	users    prometheus.Counter
	seconds  prometheus.Histogram
	failures prometheus.Counter
}

// NewCheckpoints returns Checkpoints; Run starts it.
func NewCheckpoints(o CheckpointOptions, m PastStandings, r *Runner) *Checkpoints {
	w := &Checkpoints{
		o: o, pastBoards: m, log: r.log,
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
	w.job = r.NewJob(JobOptions{
		Name: checkpointLease, TTL: checkpointLeaseTTL, Interval: checkpointInterval,
		Failure: "checkpoints or samples of ranks not made", Level: slog.LevelWarn, Failures: w.failures,
	})
	return w
}

// Collectors returns the metrics to register.
func (w *Checkpoints) Collectors() []prometheus.Collector {
	return []prometheus.Collector{w.users, w.seconds, w.failures}
}

// Run makes checkpoints until ctx ends, while it holds the lease.
func (w *Checkpoints) Run(ctx context.Context) error {
	return w.job.Run(ctx, w.run)
}

func (w *Checkpoints) run(ctx context.Context) error {
	if err := w.pastBoards.Summarize(ctx); err != nil {
		return err
	}
	if _, err := w.pastBoards.DeleteOld(ctx, w.o.Keep); err != nil {
		return err
	}
	due, at, err := w.pastBoards.Count(ctx, w.o.Events)
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
func (w *Checkpoints) sample(ctx context.Context, hour time.Time) error {
	if !hour.After(w.sampled) {
		return nil
	}
	boards, err := w.pastBoards.Unsampled(ctx, hour)
	until := time.Now().Add(samplePass)
	for i := 0; err == nil && i < len(boards); i++ {
		if time.Now().After(until) {
			return nil
		}
		if err = w.job.Keep(ctx); err == nil {
			err = w.pastBoards.Sample(ctx, boards[i], hour)
		}
	}
	if err == nil {
		w.sampled = hour
	}
	return err
}

func (w *Checkpoints) makeOne(ctx context.Context, board scoreboard.BoardID, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, checkpointTimeout)
	defer cancel()
	began := time.Now()
	users, err := w.pastBoards.Make(ctx, board, at, w.job.Keep)
	if err != nil {
		return err
	}
	w.users.Add(float64(users))
	w.seconds.Observe(time.Since(began).Seconds())
	w.log.Debug("checkpoint made", "board", board, "users", users, "elapsed", time.Since(began))
	return nil
}
