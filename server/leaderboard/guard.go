package leaderboard

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// After a number of consecutive failures a backend is not called for a pause, after
// which one call probes it.
const (
	failures = 3
	pause    = time.Second
)

// errBreakerOpen is the result of a call that was not made.
var errBreakerOpen = &scoreboard.Error{
	Code:       wire.CodeUnavailable,
	Message:    "standings cannot be read at the moment",
	RetryAfter: pause,
}

// guard calls a backend while it answers. Reads and receipts have one each for
// the ranking, because what is too slow for a receipt may do for a read.
type guard struct {
	breaker *retry.Breaker
	budget  time.Duration
	slots   *share.Pool // limits concurrent calls; nil for no limit
	open    prometheus.Collector
}

func newGuard(what string, budget time.Duration) *guard {
	b := retry.NewBreaker(failures, pause, time.Now)
	return &guard{b, budget, nil, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "scoreboard_leaderboard_breaker_open", Help: "1 while a backend is not called because it did not answer.",
		ConstLabels: prometheus.Labels{"for": what},
	}, func() float64 {
		if b.Open() {
			return 1
		}
		return 0
	})}
}

// try makes a call within the budget.
func (g *guard) try(ctx context.Context, board scoreboard.BoardID, call func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	budget, ok := g.breaker.Budget(g.budget)
	if !ok {
		return errBreakerOpen
	}
	limited, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	if g.slots != nil {
		release, err := g.slots.Take(limited, share.Claim{Board: string(board)})
		if err != nil {
			return errBreakerOpen // no slot: this says nothing about the backend
		}
		defer release()
	}
	err := call(limited)
	switch {
	case err == nil || errors.Is(err, scoreboard.ErrNotLoaded) || wire.CodeOf(err) == wire.CodeNotFound:
		g.breaker.Done(true)
	case !errors.Is(ctx.Err(), context.Canceled): // a client that hung up says nothing about the backend
		g.breaker.Done(false)
	}
	return err
}
