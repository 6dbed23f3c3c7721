package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// JobOptions describe a job.
type JobOptions struct {
	Name     string        // of the job and of its lease
	TTL      time.Duration // of the lease; 0: there is none, and every process runs the job
	Interval time.Duration // from the start of a run to the next one
	First    time.Duration // from the start of the job to its first run
	Retry    time.Duration // from the start of a run that failed to the next one; 0: Interval
	// MaxRun is how long the lease is renewed beside work that does not call Keep, and bounds a
	// run. 0: work that takes longer than the lease lives calls Keep.
	MaxRun time.Duration
	// Runs makes the next run due an interval after the last one of any process, instead of this
	// one; nil: this one.
	Runs RunStore
	// Idle is called about once a second while another process holds the lease; may be nil.
	Idle func(context.Context) error

	Failure  string             // what a failed run means, for the log
	Level    slog.Level         // of that
	Failures prometheus.Counter // counts failed runs, too, under a name of its own; may be nil
}

// RunStore stores when jobs ran.
type RunStore interface {
	// SinceRun returns how long ago the last completed run began; false if there was none.
	SinceRun(ctx context.Context, name string) (ago time.Duration, ran bool, err error)
	// RecordRun stores that a run, which has taken so long, is complete.
	RecordRun(ctx context.Context, name string, took time.Duration) error
}

// Job is work at an interval, in one process at a time under a lease, or in every process.
type Job struct {
	JobOptions
	runner  *Runner
	trigger chan struct{}

	// Of the goroutine that runs work, or of Run while none does.
	held  bool      // as of tried
	tried time.Time // when the lease was last taken, renewed or refused

	mu     sync.Mutex
	status JobStatus
}

// JobStatus is what a job of this process does.
type JobStatus struct {
	Name      string
	Holder    bool      // it holds the lease, or needs none
	Running   bool      // a run is in progress
	Started   time.Time // the last run
	Succeeded time.Time // when the last successful run ended
	Failed    int       // runs in sequence, to the last one
	Error     string    // of the last of them
}

const (
	takeInterval = time.Second     // a process without the lease asks for it
	stopTimeout  = 3 * time.Second // for work that was told to end
)

// errStuck is the error of work that goes on after the job was told to end.
var errStuck = errors.New("the work did not end in time")

// Trigger makes the next run due now. It never blocks. A process without the lease runs nothing.
func (j *Job) Trigger() {
	select {
	case j.trigger <- struct{}{}:
	default:
	}
}

// Status returns the status of the job in this process.
func (j *Job) Status() JobStatus {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.status
}

// Run runs work at its interval, while this process holds the lease, until ctx ends, and then
// releases the lease. It returns when work has ended, or stopTimeout after ctx: the lease is
// then left to expire.
func (j *Job) Run(ctx context.Context, work func(context.Context) error) error {
	j.runner.mu.Lock()
	j.runner.jobs = append(j.runner.jobs, j)
	j.runner.mu.Unlock()
	due := time.Now().Add(j.First)
	for ctx.Err() == nil {
		wait, err := j.step(ctx, &due, work)
		if errors.Is(err, errStuck) {
			j.runner.log.Error("job abandoned; its lease expires", "job", j.Name, "err", err)
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		case <-j.trigger:
			due = time.Now()
		}
	}
	if j.TTL > 0 {
		j.runner.release(ctx, j.Name)
	}
	return nil
}

// step takes or renews the lease, and runs work if that is due. It returns how long to wait for
// the next step.
func (j *Job) step(
	ctx context.Context, due *time.Time, work func(context.Context) error,
) (wait time.Duration, err error) {
	asked := time.Now()
	if err = j.Keep(ctx); err == nil {
		if wait = time.Until(*due); wait > 0 {
			return j.untilRenewal(wait), nil
		}
		if *due, err = j.runDue(ctx, asked, work); err != nil && j.Retry > 0 {
			*due = asked.Add(j.Retry)
		}
		wait = j.untilRenewal(time.Until(*due))
	} else {
		wait = j.askEvery()
		if !errors.Is(err, ErrLost) {
			j.fail(ctx, err)
		}
	}
	if errors.Is(err, ErrLost) && j.Idle != nil {
		if err := j.Idle(ctx); err != nil {
			j.fail(ctx, err)
		}
	}
	return max(wait, 0), err
}

// runDue runs work, unless another process has run it within the interval, and returns when the next
// run is due.
func (j *Job) runDue(ctx context.Context, asked time.Time, work func(context.Context) error) (time.Time, error) {
	next := asked.Add(j.Interval)
	if j.Runs == nil {
		return next, j.run(ctx, work)
	}
	ago, ran, err := j.Runs.SinceRun(ctx, j.Name)
	switch {
	case err != nil:
		j.fail(ctx, err)
		return next, err
	case ran && ago < j.Interval:
		return asked.Add(j.Interval - ago), nil
	}
	return next, j.run(ctx, work)
}

// untilRenewal shortens a wait so that the lease is renewed in time.
func (j *Job) untilRenewal(wait time.Duration) time.Duration {
	if j.TTL > 0 {
		wait = min(wait, j.TTL/4)
	}
	return wait
}

// askEvery is how often a process asks for a lease that it does not hold.
func (j *Job) askEvery() time.Duration { return max(min(j.Interval, j.TTL/4), takeInterval) }

// Keep takes the lease, or renews it once a quarter of its TTL has passed. Work that takes
// longer than that calls it before each of its transactions, so that it never goes on without
// the lease for long, and a process that hangs loses it. The error is ErrLost if another process
// holds it. Only work may call it.
func (j *Job) Keep(ctx context.Context) error {
	if j.TTL == 0 {
		j.setHolder(true)
		return ctx.Err()
	}
	since := time.Since(j.tried)
	switch {
	case j.held && since < j.TTL/4:
		return nil
	case !j.held && since < j.askEvery():
		return ErrLost
	}
	held, err := j.runner.leases.TakeLease(ctx, j.Name, j.runner.owner, j.TTL)
	j.held, j.tried = held, time.Now()
	j.setHolder(held)
	if err == nil && !held {
		err = ErrLost
	}
	return err
}

func (j *Job) setHolder(held bool) {
	j.mu.Lock()
	j.status.Holder = held
	j.mu.Unlock()
	if j.TTL > 0 {
		value := 0.0
		if held {
			value = 1
		}
		j.runner.holds.WithLabelValues(j.Name).Set(value)
	}
}

// run runs work once.
func (j *Job) run(ctx context.Context, work func(context.Context) error) error {
	began := time.Now()
	j.mu.Lock()
	j.status.Started, j.status.Running = began, true
	j.mu.Unlock()
	err := j.await(ctx, work)
	if err == nil && j.Runs != nil {
		err = j.Runs.RecordRun(ctx, j.Name, time.Since(began))
	}
	j.mu.Lock()
	j.status.Running = errors.Is(err, errStuck)
	j.mu.Unlock()
	j.runner.seconds.WithLabelValues(j.Name).Observe(time.Since(began).Seconds())
	switch {
	case errors.Is(err, errStuck):
	case err == nil:
		j.succeed()
	case errors.Is(err, ErrLost):
		j.runner.runs.WithLabelValues(j.Name, "lost").Inc()
		if j.TTL > 0 {
			j.held, j.tried = false, time.Now()
			j.setHolder(false)
		}
	default:
		j.tried = time.Time{} // it may be gone: ask again
		j.fail(ctx, err)
	}
	return err
}

// await runs work beside the caller, which gives up on work that does not end with ctx.
func (j *Job) await(ctx context.Context, work func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- j.work(ctx, work) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(stopTimeout):
		return errStuck
	}
}

// work runs work within MaxRun.
func (j *Job) work(ctx context.Context, work func(context.Context) error) error {
	if j.MaxRun == 0 {
		return work(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, j.MaxRun)
	defer cancel()
	if j.TTL == 0 {
		return work(ctx)
	}
	return j.runner.renewBeside(ctx, j.Name, j.TTL, work)
}

func (j *Job) succeed() {
	now := time.Now()
	j.mu.Lock()
	j.status.Succeeded, j.status.Failed, j.status.Error = now, 0, ""
	j.mu.Unlock()
	j.runner.runs.WithLabelValues(j.Name, "ok").Inc()
	j.runner.success.WithLabelValues(j.Name).Set(float64(now.UnixMilli()) / 1000)
}

// fail records an error, unless it comes from the end of ctx.
func (j *Job) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	j.mu.Lock()
	j.status.Failed++
	j.status.Error = err.Error()
	j.mu.Unlock()
	j.runner.runs.WithLabelValues(j.Name, "failed").Inc()
	if j.Failures != nil {
		j.Failures.Inc()
	}
	j.runner.log.Log(ctx, j.Level, j.Failure, "job", j.Name, "err", err)
}
