package upkeep

import (
	"context"

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

const rewardsChunk = 5000 // ranks in one transaction

// NewRewards returns the job that grants the rewards of periods that have ended.
func NewRewards(s RewardStore, runner *Runner) *PeriodJob {
	return newPeriodJob(runner, periodWork{
		lease: "rewards", due: s.DueRewards, end: s.GrantRewards, size: rewardsChunk,
		ended: "rewards granted", counted: "rewards", failure: "rewards not granted",
		done: prometheus.NewCounter(prometheus.CounterOpts{
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
	})
}
