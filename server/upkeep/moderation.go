package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Voids stores the jobs that reverse the events of a sender.
type Voids interface {
	ClaimVoid(ctx context.Context, ttl time.Duration) (*scoreboard.Void, error)
	StepVoid(ctx context.Context, v *scoreboard.Void, ttl time.Duration) (more bool, err error)
	// ReleaseVoid stores the failure of the run, nil if it had none.
	ReleaseVoid(ctx context.Context, v *scoreboard.Void, failure error) error
	DeleteOldVoidEvents(ctx context.Context) error
}

const (
	voidsJob        = "voids"
	voidInterval    = time.Second
	voidClaimTTL    = 30 * time.Second // how long a void stays claimed by a node that died
	moderationPass  = 20 * time.Second // of one void, before the next is claimed
	cleanupJob      = "cleanup"
	cleanupInterval = time.Minute
	cleanupLeaseTTL = 30 * time.Second
	cleanupMax      = 10 * time.Minute // of one run: the next one continues
)

// Moderation runs voids and deletes expired personal data.
type Moderation struct {
	voids     Voids
	personal  PersonalData
	ranking   Ranking
	addresses func() time.Duration // retention of addresses; 0: as long as the ledger
	window    scoreboard.Window    // in which repeats are recognised
	log       *slog.Logger

	voiding, cleaning *Job
	retention         time.Duration // as of the last run

	failures prometheus.Counter
	steps    prometheus.Counter
}

// NewModeration returns Moderation; Run starts it. The names of erased users are kept for the
// window in which repeats are recognised, and a little longer.
func NewModeration(
	v Voids, p PersonalData, r Ranking, addresses func() time.Duration, window scoreboard.Window, runner *Runner,
) *Moderation {
	w := &Moderation{
		voids: v, personal: p, ranking: r, addresses: addresses, window: window, log: runner.log,
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_moderation_failures_total", Help: "Moderation runs that ended in an error.",
		}),
		steps: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_moderation_steps_total", Help: "Transactions of moderation jobs.",
		}),
	}
	// Voids need no lease: the store gives each to one node, so that several nodes work on several.
	w.voiding = runner.NewJob(JobOptions{
		Name: voidsJob, Interval: voidInterval,
		Failure: "void not advanced", Level: slog.LevelWarn, Failures: w.failures,
	})
	w.cleaning = runner.NewJob(JobOptions{
		Name: cleanupJob, TTL: cleanupLeaseTTL, Interval: cleanupInterval, MaxRun: cleanupMax,
		Failure: "expired personal data not deleted", Level: slog.LevelWarn, Failures: w.failures,
	})
	return w
}

// Collectors returns the metrics to register.
func (w *Moderation) Collectors() []prometheus.Collector {
	return []prometheus.Collector{w.failures, w.steps}
}

// Run works until ctx ends.
func (w *Moderation) Run(ctx context.Context) error {
	w.retention = w.addresses()
	var cleaning sync.WaitGroup
	defer cleaning.Wait()
	cleaning.Go(func() { _ = w.cleaning.Run(ctx, w.Cleanup) }) // it returns no error
	return w.voiding.Run(ctx, w.runVoid)
}

// runVoid claims one void and runs its steps for at most moderationPass.
func (w *Moderation) runVoid(ctx context.Context) error {
	if now := w.addresses(); now != w.retention { // a changed setting applies at once
		w.retention = now
		w.cleaning.Trigger()
	}
	v, err := w.voids.ClaimVoid(ctx, voidClaimTTL)
	if err != nil || v == nil {
		return err
	}
	before := v.State
	for started, more := time.Now(), true; more && err == nil && time.Since(started) < moderationPass; {
		more, err = w.voids.StepVoid(ctx, v, voidClaimTTL)
		w.steps.Inc()
	}
	if v.State != before {
		w.log.Info("void advanced", "void", v.ID, "state", v.State)
	}
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if ctx.Err() != nil { // this process ends
		return errors.Join(err, w.voids.ReleaseVoid(release, v, nil))
	}
	return errors.Join(err, w.voids.ReleaseVoid(release, v, err))
}
