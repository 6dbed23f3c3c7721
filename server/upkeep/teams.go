package upkeep

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/metric"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// TeamScores are the scores of teams in the store.
type TeamScores interface {
	// Update computes the teams that have changed. It calls next before each transaction.
	Update(ctx context.Context, next func(context.Context) error) (scoreboard.TeamPass, error)
	Age(ctx context.Context) (time.Duration, error)
}

const (
	teamsInterval = 200 * time.Millisecond
	teamsLease    = "teams"
	teamsLeaseTTL = 10 * time.Second
	teamsRetry    = time.Second // after a pass that failed
	// teamsAgeInterval is between two measurements of the age.
	teamsAgeInterval = time.Second
)

// Teams computes the scores of teams.
type Teams struct {
	scores TeamScores
	boards func(context.Context) (map[scoreboard.BoardID]*scoreboard.Board, error)
	job    *Job

	observed time.Time // when the age was last measured

	recorded, failures prometheus.Counter
	seconds            prometheus.Histogram
	age                *metric.Expiring
}

// NewTeams returns Teams; Run starts it. boards returns the boards that this node knows.
func NewTeams(
	s TeamScores, boards func(context.Context) (map[scoreboard.BoardID]*scoreboard.Board, error), r *Runner,
) *Teams {
	w := &Teams{
		scores: s, boards: boards,
		recorded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_teams_scores_total", Help: "Scores of teams that were recorded.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_teams_failures_total",
			Help: "Passes over the teams that failed; the next one continues.",
		}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "scoreboard_teams_pass_seconds", Help: "Time of a pass that recorded scores of teams.",
			Buckets: []float64{.005, .02, .1, .5, 2, 10, 60},
		}),
		age: metric.NewGauge(prometheus.GaugeOpts{
			Name: "scoreboard_teams_age_seconds",
			Help: "Age of the scores of teams: how far they are behind those of their members.",
		}),
	}
	w.job = r.NewJob(JobOptions{
		Name: teamsLease, TTL: teamsLeaseTTL, Interval: teamsInterval, Retry: teamsRetry, Idle: w.idle,
		Failure: "scores of teams not computed", Level: slog.LevelWarn, Failures: w.failures,
	})
	return w
}

// Collectors returns the metrics to register.
func (w *Teams) Collectors() []prometheus.Collector {
	return []prometheus.Collector{w.recorded, w.failures, w.seconds, w.age}
}

// Run computes scores until ctx ends, while it holds the lease.
func (w *Teams) Run(ctx context.Context) error {
	return w.job.Run(ctx, w.run)
}

// run makes one pass, if there are teams.
func (w *Teams) run(ctx context.Context) error {
	if some, err := w.haveTeams(ctx); err != nil || !some {
		return err
	}
	if err := w.update(ctx); err != nil {
		return err
	}
	return w.observeAge(ctx)
}

// idle observes the age of what another process computes.
func (w *Teams) idle(ctx context.Context) error {
	if some, err := w.haveTeams(ctx); err != nil || !some {
		return err
	}
	return w.observeAge(ctx)
}

// update makes passes until nothing is left to do.
func (w *Teams) update(ctx context.Context) error {
	began := time.Now()
	for more := true; more; {
		pass, err := w.scores.Update(ctx, w.job.Keep)
		w.recorded.Add(float64(pass.Recorded))
		if err != nil {
			return err
		}
		if pass.Recorded > 0 {
			w.seconds.Observe(time.Since(began).Seconds())
		}
		more = pass.More
	}
	return nil
}

// haveTeams reports whether any board ranks teams.
func (w *Teams) haveTeams(ctx context.Context) (bool, error) {
	boards, err := w.boards(ctx)
	for _, b := range boards {
		if b.Team != nil {
			return true, nil
		}
	}
	return false, err
}

// observeAge measures the age, about once a second.
func (w *Teams) observeAge(ctx context.Context) error {
	if time.Since(w.observed) < teamsAgeInterval {
		return nil
	}
	w.observed = time.Now()
	age, err := w.scores.Age(ctx)
	if err == nil {
		w.age.Set(age.Seconds())
	}
	return err
}
