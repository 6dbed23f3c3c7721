package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/store"
)

// A used action token is remembered for longer than an increment that came with
// it may wait to be recorded.
const (
	tokenMemory = config.RepeatWindow + 5*24*time.Hour
	sweepEvery  = 10 * time.Minute
	sweepChunk  = 5_000
)

// sweeper forgets used action tokens that nothing can come with any more.
type sweeper struct {
	store *store.Store
	log   *slog.Logger
}

// Run sweeps now and then until ctx ends.
func (s sweeper) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("used action tokens not swept", "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s sweeper) sweep(ctx context.Context) error {
	for {
		n, err := s.store.ForgetActionTokens(ctx, time.Now().Add(-tokenMemory), sweepChunk)
		if err != nil || n < sweepChunk {
			return err
		}
	}
}
