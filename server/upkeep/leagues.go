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

// LeagueStore decides who moves in leagues.
type LeagueStore interface {
	// DueLeagues lists periods that are not decided, the earliest end first.
	DueLeagues(ctx context.Context) ([]scoreboard.DuePeriod, error)
	// DecideLeague decides about size players in one transaction, and calls next before each.
	DecideLeague(
		ctx context.Context, id scoreboard.BoardID, size int, next func(context.Context) error,
	) (moved int64, err error)
}

const (
	leaguesInterval = time.Second
	leaguesLease    = "leagues"
	leaguesLeaseTTL = 10 * time.Second
	leaguesChunk    = 2000 // players in one transaction
)

// Leagues moves the players of leagues between divisions when a period has ended.
type Leagues struct {
	job   *Job
	store LeagueStore
	log   *slog.Logger

	moved, failures prometheus.Counter
	late            *metric.Expiring
}

// NewLeagues returns a Leagues; Run starts it.
func NewLeagues(s LeagueStore, runner *Runner) *Leagues {
	l := &Leagues{
		store: s, log: runner.log,
		moved: prometheus.NewCounter(prometheus.CounterOpts{
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
	}
	l.job = runner.NewJob(JobOptions{
		Name: leaguesLease, TTL: leaguesLeaseTTL, Interval: leaguesInterval, Idle: l.idle,
		Failure: "league not decided", Level: slog.LevelWarn, Failures: l.failures,
	})
	return l
}

// Collectors returns the metrics to register.
func (l *Leagues) Collectors() []prometheus.Collector {
	return []prometheus.Collector{l.moved, l.failures, l.late}
}

// Run decides what is due every second until ctx ends, while it holds the lease.
func (l *Leagues) Run(ctx context.Context) error { return l.job.Run(ctx, l.decide) }

// idle reports nothing late: the holder of the lease does.
func (l *Leagues) idle(context.Context) error {
	l.late.Set(0)
	return nil
}

// decide decides all periods that are due. One that fails delays no other league.
func (l *Leagues) decide(ctx context.Context) error {
	due, err := l.store.DueLeagues(ctx)
	if err != nil {
		return err
	}
	l.late.Set(0)
	if len(due) > 0 {
		l.late.Set(max(0, due[0].Since.Seconds()))
	}
	var errs []error
	for i := range due {
		began := time.Now()
		moved, err := l.store.DecideLeague(ctx, due[i].Board, leaguesChunk, l.job.Keep)
		l.moved.Add(float64(moved))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		l.log.Info("period of a league decided", "board", due[i].Board, "moved", moved, "elapsed", time.Since(began))
	}
	return errors.Join(errs...)
}
