package repair

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Scores is the store as the sampler walks over it.
type Scores interface {
	States
	Walk(ctx context.Context, user scoreboard.UserID, board scoreboard.BoardID, limit int) ([]scoreboard.Change, error)
}

// Sampler compares a trickle of users all the time: it walks over all scores,
// around and around.
type Sampler struct {
	scores  Scores
	kept    Kept
	mend    bool
	halted  func() bool
	log     *slog.Logger
	user    scoreboard.UserID
	board   scoreboard.BoardID
	checked prometheus.Counter
	drift   prometheus.Counter
	mended  prometheus.Counter
	rounds  prometheus.Counter
}

// The trickle: 200 users a second, so a million in an hour and a half.
const (
	sampleEvery = time.Second
	sampleSize  = 200
)

// NewSampler makes a sampler that mends what it finds if mend is set. While the
// store is not to be believed, halted says so.
func NewSampler(s Scores, k Kept, mend bool, halted func() bool, log *slog.Logger) *Sampler {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "scoreboard_reconcile_" + name, Help: help})
	}
	return &Sampler{
		scores: s, kept: k, mend: mend, halted: halted, log: log,
		checked: counter("checked_total", "Users compared between store and ranking."),
		drift:   counter("drift_total", "Users whose ranking was not what the store has, and did not become it."),
		mended:  counter("mended_total", "Users whose ranking was put right."),
		rounds:  counter("rounds_total", "Times that every user has been compared."),
	}
}

// Collectors are what the root registers.
func (s *Sampler) Collectors() []prometheus.Collector {
	return []prometheus.Collector{s.checked, s.drift, s.mended, s.rounds}
}

// Run samples until ctx ends.
func (s *Sampler) Run(ctx context.Context) error {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if s.halted() {
			continue
		}
		if err := s.once(ctx); err != nil && ctx.Err() == nil {
			s.log.Debug("sample not compared", "err", err)
		}
	}
}

// once compares the next users of the walk.
func (s *Sampler) once(ctx context.Context) error {
	states, err := s.scores.Walk(ctx, s.user, s.board, sampleSize)
	if err != nil {
		return err
	}
	boards := make(map[scoreboard.BoardID][]scoreboard.UserID, 1)
	for i := range states {
		boards[states[i].Board] = append(boards[states[i].Board], states[i].User)
	}
	for board, users := range boards {
		wrong, err := differing(ctx, s.scores, s.kept, board, users, settleTries)
		if errors.Is(err, scoreboard.ErrNotLoaded) {
			continue // archived, or being rebuilt: not wrong, and no reason to stand still
		}
		if err != nil {
			return err // the same users again
		}
		s.checked.Add(float64(len(users)))
		for i := range wrong {
			if err := s.found(ctx, &wrong[i]); err != nil {
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

func (s *Sampler) found(ctx context.Context, d *drifted) error {
	s.drift.Inc()
	s.log.Error("ranking differs from the store", "board", d.truth.Board, "user", d.truth.User, "kind", d.kind(), "detail", d.describe())
	if !s.mend {
		return nil
	}
	mended, err := s.kept.Repair(ctx, &d.truth, d.kept)
	if mended {
		s.mended.Inc()
	}
	return err
}
