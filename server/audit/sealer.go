package audit

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/leased"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Trail is the audit trail in the store.
type Trail interface {
	Seal(ctx context.Context, limit int) (head scoreboard.AuditSeal, sealed int, err error)
}

const (
	interval  = 300 * time.Millisecond // of runs; a seal is due within a second
	leaseName = "audit seals"
	leaseTTL  = 5 * time.Second
	batch     = 500 // rows sealed in one transaction
)

// Sealer seals the audit trail.
type Sealer struct {
	trail Trail
	job   leased.Job
	log   *slog.Logger

	sealed, failures prometheus.Counter
}

// New returns a Sealer; Run starts it. owner names this process in the lease.
func New(owner string, t Trail, l leased.Leases, log *slog.Logger) *Sealer {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_audit_" + name, Help: help})
	}
	return &Sealer{
		trail: t, log: log,
		job: leased.Job{
			Leases: l, Name: leaseName, Owner: owner, Life: leaseTTL, Interval: interval, Log: log,
		},
		sealed:   counter("sealed_total", "Rows of the audit trail that were sealed."),
		failures: counter("seal_failures_total", "Runs of the sealer that failed; the next one continues."),
	}
}

// Collectors returns the metrics to register.
func (s *Sealer) Collectors() []prometheus.Collector {
	return []prometheus.Collector{s.sealed, s.failures}
}

// Run seals new rows until ctx ends, while it holds the lease.
func (s *Sealer) Run(ctx context.Context) error {
	return s.job.Run(ctx, s.seal, func(err error) {
		s.failures.Inc()
		s.log.Warn("audit trail not sealed", "err", err)
	})
}

// seal seals what is committed, if this process gets the lease.
func (s *Sealer) seal(ctx context.Context) error {
	for {
		held, err := s.job.Renew(ctx)
		if err != nil || !held {
			return err
		}
		head, n, err := s.trail.Seal(ctx, batch)
		if err != nil {
			return err
		}
		if n > 0 {
			s.sealed.Add(float64(n))
			s.log.Info("audit trail sealed", "rows", n, "head", head.String())
		}
		if n < batch {
			return nil
		}
	}
}
