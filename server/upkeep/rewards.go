package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// RewardStore stores who gets which reward.
type RewardStore interface {
	// DueRewards lists periods whose rewards are not all granted, the earliest end first.
	DueRewards(ctx context.Context) ([]scoreboard.DuePeriod, error)
	// GrantRewards grants those of size ranks in one transaction, and calls next before each.
	GrantRewards(
		ctx context.Context, id scoreboard.BoardID, size int, next func(context.Context) error,
	) (granted int64, err error)
}

const (
	rewardsInterval = time.Second
	rewardsLease    = "rewards"
	rewardsLeaseTTL = 10 * time.Second
	rewardsChunk    = 5000 // ranks in one transaction
)

// Rewards grants the rewards of periods that have ended.
type Rewards struct {
	job   *Job
	store RewardStore
	log   *slog.Logger

	granted, failures prometheus.Counter
	late              *metric.Expiring
}

// NewRewards returns a Rewards; Run starts it.
func NewRewards(s RewardStore, runner *Runner) *Rewards {
	r := &Rewards{
		store: s, log: runner.log,
		granted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_rewards_granted_total", Help: "Rewards granted at the ends of periods.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_rewards_failures_total",
			Help: "Failed attempts to grant the rewards of periods; the next one continues.",
		}),
		late: metric.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_rewards_late_seconds",
			Help: "Seconds since the end of the oldest period with final standings whose rewards are not all granted.",
		}),
	}
	r.job = runner.NewJob(JobOptions{
		Name: rewardsLease, TTL: rewardsLeaseTTL, Interval: rewardsInterval, Idle: r.idle,
		Failure: "rewards not granted", Level: slog.LevelWarn, Failures: r.failures,
	})
	return r
}

// Collectors returns the metrics to register.
func (r *Rewards) Collectors() []prometheus.Collector {
	return []prometheus.Collector{r.granted, r.failures, r.late}
}

// Run grants what is due every second until ctx ends, while it holds the lease.
func (r *Rewards) Run(ctx context.Context) error { return r.job.Run(ctx, r.grant) }

// idle reports nothing late: the holder of the lease does.
func (r *Rewards) idle(context.Context) error {
	r.late.Set(0)
	return nil
}

// grant grants the rewards of all periods that are due. One that fails delays no other.
func (r *Rewards) grant(ctx context.Context) error {
	due, err := r.store.DueRewards(ctx)
	if err != nil {
		return err
	}
	r.late.Set(0)
	if len(due) > 0 {
		r.late.Set(max(0, due[0].Since.Seconds()))
	}
	var errs []error
	for i := range due {
		began := time.Now()
		granted, err := r.store.GrantRewards(ctx, due[i].Board, rewardsChunk, r.job.Keep)
		r.granted.Add(float64(granted))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r.log.Info("rewards granted", "board", due[i].Board, "rewards", granted, "elapsed", time.Since(began))
	}
	return errors.Join(errs...)
}
