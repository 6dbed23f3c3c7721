package upkeep

import (
	"context"
	"errors"
	"log/slog"
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
	voidInterval    = time.Second
	voidClaimTTL    = 30 * time.Second // how long a job stays claimed by a node that died
	moderationPass  = 20 * time.Second // of one job, before the next is claimed
	cleanupInterval = time.Minute
)

// Moderation runs voids and deletes expired personal data.
type Moderation struct {
	voids     Voids
	personal  PersonalData
	exposed   ExposedUsers
	ranking   Ranking
	addresses func() time.Duration // retention of addresses; 0: as long as the ledger
	window    scoreboard.Window    // in which repeats are recognised
	log       *slog.Logger

	failures prometheus.Counter
	steps    prometheus.Counter
}

// NewModeration returns Moderation; Run starts it. The names of erased users are kept for the
// window in which repeats are recognised, and a little longer.
func NewModeration(
	v Voids, p PersonalData, e ExposedUsers, r Ranking, addresses func() time.Duration, window scoreboard.Window,
	log *slog.Logger,
) *Moderation {
	return &Moderation{
		voids: v, personal: p, exposed: e, ranking: r, addresses: addresses, window: window, log: log,
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_moderation_failures_total", Help: "Moderation runs that ended in an error.",
		}),
		steps: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_moderation_steps_total", Help: "Transactions of moderation jobs.",
		}),
	}
}

// Collectors returns the metrics to register.
func (w *Moderation) Collectors() []prometheus.Collector {
	return []prometheus.Collector{w.failures, w.steps}
}

// Run works until ctx ends.
func (w *Moderation) Run(ctx context.Context) error {
	poll, cleanup := time.NewTicker(voidInterval), time.NewTicker(cleanupInterval)
	defer poll.Stop()
	defer cleanup.Stop()
	retention := w.addresses()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
			w.report(ctx, w.runVoid(ctx))
			if now := w.addresses(); now != retention { // a changed setting applies at once
				retention = now
				w.report(ctx, w.deleteAddresses(ctx))
			}
		case <-cleanup.C:
			w.report(ctx, w.Cleanup(ctx))
		}
	}
}

func (w *Moderation) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		w.failures.Inc()
		w.log.Warn("moderation run failed", "err", err)
	}
}

// runVoid claims one void and runs its steps for at most maxRun.
func (w *Moderation) runVoid(ctx context.Context) error {
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
