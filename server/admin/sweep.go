package admin

import (
	"context"
	"log/slog"
	"time"

	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/store/increments"
)

const (
	// Used action tokens are remembered for longer than an increment that carries
	// one may wait to be recorded.
	tokenRetention = config.RepeatWindow + 5*24*time.Hour
	// Rejections are remembered for as long as a record of theirs may be delivered
	// again, but only maxRejections of them.
	rejectionRetention = config.RepeatWindow + 5*24*time.Hour
	maxRejections      = 2_000_000

	sweepInterval = 10 * time.Minute
	sweepBatch    = 5_000
)

// Sweeper deletes used action tokens whose increments can no longer arrive, and old
// rejections of accepted increments.
type Sweeper struct {
	Increments *increments.Increments
	Log        *slog.Logger
}

// Run sweeps at sweepInterval until ctx ends.
func (s Sweeper) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		for what, sweep := range map[string]func(context.Context) (int64, error){
			"used action tokens": func(ctx context.Context) (int64, error) {
				return s.Increments.DeleteUsedTokens(ctx, time.Now().Add(-tokenRetention), sweepBatch)
			},
			"rejections": func(ctx context.Context) (int64, error) {
				return s.Increments.DeleteRejections(
					ctx, time.Now().Add(-rejectionRetention), maxRejections, sweepBatch,
				)
			},
		} {
			if err := repeat(ctx, sweep); err != nil && ctx.Err() == nil {
				s.Log.Warn(what+" not deleted", "err", err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// repeat calls sweep until it deletes less than a full batch.
func repeat(ctx context.Context, sweep func(context.Context) (int64, error)) error {
	for {
		n, err := sweep(ctx)
		if err != nil || n < sweepBatch {
			return err
		}
	}
}
