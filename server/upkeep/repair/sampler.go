package repair

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep"
)

// SampleSource is the store as the sampler pages through it.
type SampleSource interface {
	StoreStates
	// StatesAfter returns the scores after a user and board, in key order.
	StatesAfter(
		ctx context.Context, user scoreboard.UserID, board scoreboard.BoardID, limit int,
	) ([]scoreboard.Change, error)
}

// Sampler compares a few users with the store every second, continuously cycling
// through all scores.
type Sampler struct {
	scores  SampleSource
	ranking RankedStates
	repair  bool
	halted  func() bool
	log     *slog.Logger
	job     *upkeep.Job
	user    scoreboard.UserID // position of the cycle, with board
	board   scoreboard.BoardID

	checked, drift, repaired, rounds prometheus.Counter
}

// 200 users a second compare a million in an hour and a half.
const (
	sampleInterval = time.Second
	sampleSize     = 200
)

// NewSampler returns a Sampler that repairs what it finds if repair is set. halted
// reports that the store must not be trusted.
func NewSampler(
	s SampleSource, r RankedStates, repair bool, halted func() bool, runner *upkeep.Runner, log *slog.Logger,
) *Sampler {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_reconcile_" + name, Help: help})
	}
	return &Sampler{
		scores: s, ranking: r, repair: repair, halted: halted, log: log,
		// Without a lease: each process goes through the users on its own. The first run is late, so
		// that the rebuilder has compared histories before.
		job: runner.NewJob(upkeep.JobOptions{
			Name: "sample", Interval: sampleInterval, First: sampleInterval,
			Failure: "sample not compared", Level: slog.LevelDebug,
		}),
		checked:  counter("checked_total", "Users compared between PostgreSQL and the ranking."),
		drift:    counter("drift_total", "Users whose ranking differed from PostgreSQL and did not catch up."),
		repaired: counter("repaired_total", "Users whose ranking was repaired."),
		rounds:   counter("rounds_total", "Completed cycles through all users."),
	}
}

// Collectors returns the metrics to register.
func (s *Sampler) Collectors() []prometheus.Collector {
	return []prometheus.Collector{s.checked, s.drift, s.repaired, s.rounds}
}

// Compared is what the sampler, or full comparisons, have found since the process started.
type Compared struct {
	Checked, Drifted, Repaired int64 // users
}

// Plus returns the sum of both.
func (c Compared) Plus(other Compared) Compared {
	return Compared{c.Checked + other.Checked, c.Drifted + other.Drifted, c.Repaired + other.Repaired}
}

// Status returns the sampler's counts.
func (s *Sampler) Status() Compared {
	return Compared{Checked: count(s.checked), Drifted: count(s.drift), Repaired: count(s.repaired)}
}

func count(c prometheus.Counter) int64 {
	var m dto.Metric
	_ = c.Write(&m) // does not fail for a counter
	return int64(m.GetCounter().GetValue())
}

// Run samples until ctx ends.
func (s *Sampler) Run(ctx context.Context) error {
	return s.job.Run(ctx, s.sample)
}

// sample compares the next users. After an error it starts with the same users
// again.
func (s *Sampler) sample(ctx context.Context) error {
	if s.halted() {
		return nil
	}
	states, err := s.scores.StatesAfter(ctx, s.user, s.board, sampleSize)
	if err != nil {
		return err
	}
	boards := make(map[scoreboard.BoardID][]scoreboard.UserID, 1)
	for i := range states {
		boards[states[i].Board] = append(boards[states[i].Board], states[i].User)
	}
	for board, users := range boards {
		drifted, err := findDrift(ctx, s.scores, s.ranking, board, users, driftRetries)
		if errors.Is(err, scoreboard.ErrNotLoaded) {
			continue // archived, or being rebuilt
		}
		if err != nil {
			return err
		}
		s.checked.Add(float64(len(users)))
		for i := range drifted {
			if err := s.report(ctx, &drifted[i]); err != nil {
				return err
			}
		}
	}
	if len(states) < sampleSize {
		s.user, s.board = "", ""
		s.rounds.Inc()
		return nil
	}
	s.user, s.board = states[len(states)-1].User, states[len(states)-1].Board
	return nil
}

// report counts and repairs a difference. Where the ranking only waits for changes it is repaired all the
// same, but is no drift.
func (s *Sampler) report(ctx context.Context, d *drift) error {
	level := slog.LevelDebug
	if !d.waits {
		level = slog.LevelError
		s.drift.Inc()
	}
	s.log.Log(ctx, level, "ranking differs from PostgreSQL",
		"board", d.stored.Board, "user", d.stored.User, "kind", d.kind(), "detail", d.describe())
	if !s.repair {
		return nil
	}
	repaired, err := s.ranking.Repair(ctx, &d.stored, d.ranked)
	if repaired {
		s.repaired.Inc()
	}
	return err
}
