package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Leases are the leases in the store.
type Leases interface {
	// TakeLease takes or renews a lease; false if another owner holds it.
	TakeLease(ctx context.Context, name, owner string, ttl time.Duration) (bool, error)
	ReleaseLease(ctx context.Context, name, owner string) error
}

// ErrLost is the error of Keep and Hold while somebody else holds the lease.
var ErrLost = errors.New("another process holds the lease")

// releaseTimeout bounds the release of a lease, when the database may not answer.
const releaseTimeout = time.Second

// Runner runs the jobs of one process, and work on request, under leases of its owner.
type Runner struct {
	owner  string
	leases Leases
	log    *slog.Logger

	mu   sync.Mutex
	jobs []*Job
	held map[string]bool // the leases of work on request

	runs           *prometheus.CounterVec
	seconds        *prometheus.HistogramVec
	holds, success *prometheus.GaugeVec
}

// NewRunner returns a Runner; owner names this process in leases.
func NewRunner(owner string, l Leases, log *slog.Logger) *Runner {
	return &Runner{
		owner: owner, leases: l, log: log, held: make(map[string]bool),
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "scoreboard_job_runs_total",
			Help: "Runs of background jobs, by job and result: ok, failed, or lost (another process took the lease).",
		}, []string{"job", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "scoreboard_job_run_seconds", Help: "Time of a run of a background job.",
			Buckets: []float64{.01, .1, 1, 10, 100, 1000},
		}, []string{"job"}),
		holds: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "scoreboard_job_holder",
			Help: "1 if this process holds the lease of a background job. Jobs without a lease are absent.",
		}, []string{"job"}),
		success: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "scoreboard_job_last_success_timestamp_seconds",
			Help: "When the last successful run of a background job in this process ended, in Unix seconds.",
		}, []string{"job"}),
	}
}

// Collectors returns the metrics to register.
func (r *Runner) Collectors() []prometheus.Collector {
	return []prometheus.Collector{r.runs, r.seconds, r.holds, r.success}
}

// NewJob returns a job; its Run starts it.
func (r *Runner) NewJob(o JobOptions) *Job {
	return &Job{JobOptions: o, runner: r, trigger: make(chan struct{}, 1), status: JobStatus{Name: o.Name}}
}

// Status returns the status of every job that this process has started.
func (r *Runner) Status() []JobStatus {
	r.mu.Lock()
	jobs := slices.Clone(r.jobs)
	r.mu.Unlock()
	all := make([]JobStatus, len(jobs))
	for i, j := range jobs {
		all[i] = j.Status()
	}
	return all
}

// Hold takes a lease, renews it while work runs once, and releases it. If it cannot be taken,
// also because this process holds it, or is lost, which ends the context of work, the error is
// ErrLost, also where work has returned nil: another process may have begun before it ended.
func (r *Runner) Hold(ctx context.Context, name string, ttl time.Duration, work func(context.Context) error) error {
	if !r.claim(name) {
		return ErrLost
	}
	defer r.unclaim(name)
	held, err := r.leases.TakeLease(ctx, name, r.owner, ttl)
	if err != nil {
		return err
	}
	if !held {
		return ErrLost
	}
	defer r.release(ctx, name)
	return r.renewBeside(ctx, name, ttl, work)
}

// claim has one caller in this process hold a lease: those in the database belong to processes.
func (r *Runner) claim(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[name] {
		return false
	}
	r.held[name] = true
	return true
}

func (r *Runner) unclaim(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, name)
}

// renewBeside runs work and renews its lease meanwhile, until ctx ends. When the lease is lost,
// the context of work ends, and the error is ErrLost.
func (r *Runner) renewBeside(
	ctx context.Context, name string, ttl time.Duration, work func(context.Context) error,
) error {
	ctx, lose := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { lose(r.renewUntil(ctx, name, ttl)) })
	err := work(ctx)
	if cause := context.Cause(ctx); cause != nil && (err != nil || errors.Is(cause, ErrLost)) {
		err = errors.Join(cause, err)
	}
	lose(nil)
	renewing.Wait()
	return err
}

// renewUntil renews a lease at each quarter of its TTL until ctx ends; it returns an error when
// the lease is lost. One that could not be renewed for half of its TTL counts as lost, so that
// work ends before another process begins.
func (r *Runner) renewUntil(ctx context.Context, name string, ttl time.Duration) error {
	tick := time.NewTicker(ttl / 4)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		call, cancel := context.WithTimeout(ctx, ttl/4)
		held, err := r.leases.TakeLease(call, name, r.owner, ttl)
		cancel()
		switch {
		case err == nil && !held, err != nil && time.Since(last) >= ttl/2:
			return ErrLost
		case err == nil:
			last = time.Now()
		}
	}
}

// release releases a lease, also after the end of ctx.
func (r *Runner) release(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := r.leases.ReleaseLease(ctx, name, r.owner); err != nil {
		r.log.Debug("lease not released; it expires", "lease", name, "err", err)
	}
}
