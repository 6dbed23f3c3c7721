package leaderboard

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/breaker"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// After so many failures in a row a backend is no longer asked; once in a
// pause somebody tries.
const (
	failures = 3
	pause    = time.Second
)

// errShutOut is what a question gets that was not asked.
var errShutOut = &scoreboard.Error{Code: scoreboard.CodeUnavailable, Message: "standings cannot be read now", RetryAfter: pause}

// guard asks a backend, as long as it answers. Reads and receipts have one each
// for the ranking, for what is too slow for a receipt may do for a read.
type guard struct {
	breaker *breaker.Breaker
	budget  time.Duration
	turns   chan struct{} // nil: any number at once
	open    prometheus.Collector
}

func newGuard(what string, budget time.Duration) *guard {
	b := breaker.New(failures, pause, time.Now)
	return &guard{b, budget, nil, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "scoreboard_leaderboard_breaker_open", Help: "1 while a backend is not asked, because it did not answer.",
		ConstLabels: prometheus.Labels{"for": what},
	}, func() float64 {
		if b.Open() {
			return 1
		}
		return 0
	})}
}

// try asks within the budget.
func (g *guard) try(ctx context.Context, question func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	budget, ok := g.breaker.Budget(g.budget)
	if !ok {
		return errShutOut
	}
	limited, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	if g.turns != nil {
		select {
		case g.turns <- struct{}{}:
			defer func() { <-g.turns }()
		case <-limited.Done():
			return errShutOut // too many ask: that says nothing new about the backend
		}
	}
	err := question(limited)
	switch {
	case err == nil || errors.Is(err, scoreboard.ErrNotLoaded) || scoreboard.CodeOf(err) == scoreboard.CodeNotFound:
		g.breaker.Done(true)
	case !errors.Is(ctx.Err(), context.Canceled): // who hung up says nothing about the backend
		g.breaker.Done(false)
	}
	return err
}
