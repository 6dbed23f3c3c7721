package moderation

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Voids are the jobs that reverse what a sender sent.
type Voids interface {
	ClaimVoid(ctx context.Context, life time.Duration) (*scoreboard.Void, error)
	StepVoid(ctx context.Context, v *scoreboard.Void, life time.Duration) (more bool, err error)
	ReleaseVoid(ctx context.Context, id int64) error
	ForgetVoids(ctx context.Context) error
}

// How often the worker looks, how long a job stays its own if it dies, and how
// long one look may take before another job has its turn.
const (
	lookEvery  = time.Second
	claimLife  = 30 * time.Second
	turnLength = 20 * time.Second
	tidyEvery  = time.Minute
)

// Worker does what is due.
type Worker struct {
	voids     Voids
	people    People
	ranking   Ranking
	addresses func() time.Duration // how long addresses are kept; 0: as long as the ledger
	log       *slog.Logger

	failures prometheus.Counter
	steps    prometheus.Counter
}

// NewWorker makes a worker; Run starts it.
func NewWorker(v Voids, p People, r Ranking, addresses func() time.Duration, log *slog.Logger) *Worker {
	return &Worker{
		voids: v, people: p, ranking: r, addresses: addresses, log: log,
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_moderation_failures_total", Help: "Looks at moderation's jobs that ended in an error.",
		}),
		steps: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_moderation_steps_total", Help: "Transactions of moderation's jobs.",
		}),
	}
}

// Collectors are what the root registers.
func (w *Worker) Collectors() []prometheus.Collector {
	return []prometheus.Collector{w.failures, w.steps}
}

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) error {
	look, tidy := time.NewTicker(lookEvery), time.NewTicker(tidyEvery)
	defer look.Stop()
	defer tidy.Stop()
	keep := w.addresses()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			w.note(ctx, w.once(ctx))
			if now := w.addresses(); now != keep { // who turned it waits for it
				keep = now
				w.note(ctx, w.forgetAddresses(ctx))
			}
		case <-tidy.C:
			w.note(ctx, w.Tidy(ctx))
		}
	}
}

func (w *Worker) note(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		w.failures.Inc()
		w.log.Warn("moderation interrupted", "err", err)
	}
}

// once takes one void as far as it comes within a turn.
func (w *Worker) once(ctx context.Context) error {
	v, err := w.voids.ClaimVoid(ctx, claimLife)
	if err != nil || v == nil {
		return err
	}
	before := v.State
	for started, more := time.Now(), true; more && err == nil && time.Since(started) < turnLength; {
		more, err = w.voids.StepVoid(ctx, v, claimLife)
		w.steps.Inc()
	}
	if v.State != before {
		w.log.Info("void moved on", "void", v.ID, "state", v.State)
	}
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return errors.Join(err, w.voids.ReleaseVoid(release, v.ID))
}
