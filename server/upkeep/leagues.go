package upkeep

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// LeagueStore decides who moves in leagues.
type LeagueStore interface {
	// DueLeagues lists periods that are not decided, the earliest end first.
	DueLeagues(ctx context.Context) ([]scoreboard.DuePeriod, error)
	// DecideLeague decides about size players in one transaction, and calls next before each.
	DecideLeague(
		ctx context.Context, id scoreboard.BoardID, size int, next func(context.Context) error,
	) (moved int64, err error)
}

const leaguesChunk = 2000 // players in one transaction

// NewLeagues returns the job that moves the players of leagues between divisions when a period has ended.
func NewLeagues(s LeagueStore, runner *Runner) *PeriodJob {
	return newPeriodJob(runner, periodWork{
		lease: "leagues", due: s.DueLeagues, end: s.DecideLeague, size: leaguesChunk,
		ended: "period of a league decided", counted: "moved", failure: "league not decided",
		done: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_leagues_moved_total", Help: "Players moved to another division at the ends of periods.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_leagues_failures_total",
			Help: "Failed attempts to decide periods of leagues; the next one continues.",
		}),
		late: metric.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_leagues_late_seconds",
			Help: "Seconds since the end of the oldest period of a league with final standings that is not decided.",
		}),
	})
}
