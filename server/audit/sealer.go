package audit

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Trail is the audit trail in the store.
type Trail interface {
	Seal(ctx context.Context, limit int) (head scoreboard.AuditSeal, sealed int, err error)
}

// Leases let one process at a time work.
type Leases interface {
	TakeLease(ctx context.Context, name, owner string, life time.Duration) (bool, error)
	ReleaseLease(ctx context.Context, name, owner string) error
}

const (
	interval  = 300 * time.Millisecond // of runs; a seal is due within a second
	leaseName = "audit seals"
	leaseTTL  = 5 * time.Second
	batch     = 500 // rows sealed in one transaction
)

// Sealer seals the audit trail.
type Sealer struct {
	owner  string
	trail  Trail
	leases Leases
	log    *slog.Logger

	sealed, failures prometheus.Counter
}

// New returns a Sealer; Run starts it. owner names this process in the lease.
func New(owner string, t Trail, l Leases, log *slog.Logger) *Sealer {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_audit_" + name, Help: help})
	}
	return &Sealer{
		owner: owner, trail: t, leases: l, log: log,
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
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := s.seal(ctx); err != nil && ctx.Err() == nil {
			s.failures.Inc()
			s.log.Warn("audit trail not sealed", "err", err)
		}
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if err := s.leases.ReleaseLease(ctx, leaseName, s.owner); err != nil {
				s.log.Debug("lease not released; it expires", "err", err)
			}
			return nil
		case <-tick.C:
		}
	}
}

// seal seals what is committed, if this process gets the lease.
func (s *Sealer) seal(ctx context.Context) error {
	for {
		held, err := s.leases.TakeLease(ctx, leaseName, s.owner, leaseTTL)
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
