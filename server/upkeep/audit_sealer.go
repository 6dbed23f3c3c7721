package upkeep

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// AuditTrail is the audit trail in the store.
type AuditTrail interface {
	Seal(ctx context.Context, limit int) (head scoreboard.AuditSeal, sealed int, err error)
}

const (
	sealInterval = 300 * time.Millisecond // of runs; a seal is due within a second
	sealLease    = "audit seals"
	sealLeaseTTL = 5 * time.Second
	sealedRows   = 500 // rows sealed in one transaction
)

// AuditSealer seals the audit trail.
type AuditSealer struct {
	trail AuditTrail
	job   *Job
	log   *slog.Logger

	sealed, failures prometheus.Counter
}

// NewAuditSealer returns an AuditSealer; Run starts it.
func NewAuditSealer(t AuditTrail, r *Runner) *AuditSealer {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_audit_" + name, Help: help})
	}
	s := &AuditSealer{
		trail: t, log: r.log,
		sealed:   counter("sealed_total", "Rows of the audit trail that were sealed."),
		failures: counter("seal_failures_total", "Runs of the sealer that failed; the next one continues."),
	}
	s.job = r.NewJob(JobOptions{
		Name: sealLease, TTL: sealLeaseTTL, Interval: sealInterval,
		Failure: "audit trail not sealed", Level: slog.LevelWarn, Failures: s.failures,
	})
	return s
}

// Collectors returns the metrics to register.
func (s *AuditSealer) Collectors() []prometheus.Collector {
	return []prometheus.Collector{s.sealed, s.failures}
}

// Run seals new rows until ctx ends, while it holds the lease.
func (s *AuditSealer) Run(ctx context.Context) error {
	return s.job.Run(ctx, s.seal)
}

// seal seals what is committed.
func (s *AuditSealer) seal(ctx context.Context) error {
	for {
		if err := s.job.Keep(ctx); err != nil {
			return err
		}
		head, n, err := s.trail.Seal(ctx, sealedRows)
		if err != nil {
			return err
		}
		if n > 0 {
			s.sealed.Add(float64(n))
			s.log.Info("audit trail sealed", "rows", n, "head", head.String())
		}
		if n < sealedRows {
			return nil
		}
	}
}
