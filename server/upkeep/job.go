package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"sync"
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
	// Retry is how often Keep tries to take a lease that another process holds; 0 is each time.
	Retry time.Duration
	Log   *slog.Logger

	held  bool      // as of tried
	tried time.Time // when the lease was last taken, renewed or refused
}

// ErrLost is the error of Keep and Hold while another process holds the lease.
var ErrLost = errors.New("another process holds the lease")

// Keep takes the lease, or renews it once a quarter of its life has passed. Work calls it first
// and before each of its transactions, so that it never goes on without the lease for long.
// The error is ErrLost if another process holds it. Only the goroutine of Run may call it.
func (j *Job) Keep(ctx context.Context) error {
	since := time.Since(j.tried)
	switch {
	case j.held && since < j.Life/4:
		return nil
	case !j.held && since < j.Retry:
		return ErrLost
	}
	held, err := j.Renew(ctx)
	j.held, j.tried = held, time.Now()
	if err == nil && !held {
		err = ErrLost
	}
	return err
}

// Renew takes or renews the lease. It returns false if another process holds it.
func (j *Job) Renew(ctx context.Context) (held bool, err error) {
	return j.Leases.TakeLease(ctx, j.Name, j.Owner, j.Life)
}

// Run calls work at once and at each interval until ctx ends, and then releases the lease.
// work begins with Keep or Renew and does nothing without the lease. failed receives the errors
// of work, except ErrLost and those after the end of ctx. After an error Keep takes the lease
// again.
func (j *Job) Run(ctx context.Context, work func(context.Context) error, failed func(error)) error {
	tick := time.NewTicker(j.Interval)
	defer tick.Stop()
	for {
		if err := work(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, ErrLost) {
			j.held, j.tried = false, time.Now()
			failed(err)
		}
		select {
		case <-ctx.Done():
			j.release(ctx)
			return nil
		case <-tick.C:
		}
	}
}

// Hold takes the lease, renews it at each interval while work runs once, and releases it. If it
// cannot be taken or is lost, which ends the context of work, the error is ErrLost, also where
// work has returned nil: another process may have begun before it ended. The interval is at
// most a quarter of the lease's life. A lease that could not be renewed for half of its life
// counts as lost, so that work ends before another process begins.
func (j *Job) Hold(ctx context.Context, work func(context.Context) error) error {
	held, err := j.Renew(ctx)
	if err != nil {
		return err
	}
	if !held {
		return ErrLost
	}
	ctx, lose := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { lose(j.renewUntil(ctx)) })
	err = work(ctx)
	if cause := context.Cause(ctx); cause != nil && (err != nil || errors.Is(cause, ErrLost)) {
		err = errors.Join(cause, err)
	}
	lose(nil)
	renewing.Wait()
	j.release(ctx)
	return err
}

// renewUntil renews the lease until ctx ends; it returns an error when the lease is lost.
func (j *Job) renewUntil(ctx context.Context) error {
	tick := time.NewTicker(j.Interval)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		call, cancel := context.WithTimeout(ctx, j.Life/4)
		held, err := j.Renew(call)
		cancel()
		switch {
		case err == nil && !held, err != nil && time.Since(last) >= j.Life/2:
			return ErrLost
		case err == nil:
			last = time.Now()
		}
	}
}

func (j *Job) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := j.Leases.ReleaseLease(ctx, j.Name, j.Owner); err != nil {
		j.Log.Debug("lease not released; it expires", "lease", j.Name, "err", err)
	}
}
