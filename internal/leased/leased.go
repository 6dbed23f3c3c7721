// Package leased runs a periodic job in one process at a time. The job holds a lease in the
// database while it works. A process that dies keeps the lease until it expires; one that
// stops releases it.
package leased

import (
	"context"
	"log/slog"
	"time"
)

// Leases are the leases in the store.
type Leases interface {
	// TakeLease takes or renews a lease; false if another owner holds it.
	TakeLease(ctx context.Context, name, owner string, life time.Duration) (bool, error)
	ReleaseLease(ctx context.Context, name, owner string) error
}

// releaseTimeout bounds the release at the end, when the database may not answer.
const releaseTimeout = time.Second

// Job is work at an interval under a lease.
type Job struct {
	Leases   Leases
	Name     string        // of the lease
	Owner    string        // names this process
	Life     time.Duration // of the lease; work must renew it in time
	Interval time.Duration
	Log      *slog.Logger
}

// Renew takes or renews the lease. It returns false if another process holds it.
func (j *Job) Renew(ctx context.Context) (held bool, err error) {
	return j.Leases.TakeLease(ctx, j.Name, j.Owner, j.Life)
}

// Run calls work at once and at each interval until ctx ends, and then releases the lease.
// work begins with Renew and does nothing without the lease. failed receives the errors of
// work, except those after the end of ctx.
func (j *Job) Run(ctx context.Context, work func(context.Context) error, failed func(error)) error {
	tick := time.NewTicker(j.Interval)
	defer tick.Stop()
	for {
		if err := work(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
			defer cancel()
			if err := j.Leases.ReleaseLease(ctx, j.Name, j.Owner); err != nil {
				j.Log.Debug("lease not released; it expires", "lease", j.Name, "err", err)
			}
			return nil
		case <-tick.C:
		}
	}
}
