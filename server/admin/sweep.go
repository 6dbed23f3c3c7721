package admin

import (
	"context"
	"log/slog"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/increments"
)

const (
	// Only the newest rejections are kept.
	maxRejections = 2_000_000

	sweepInterval = 10 * time.Minute
	sweepBatch    = 5_000
)

// Sweeper deletes used action tokens whose increments can no longer arrive, and old
// rejections of accepted increments.
type Sweeper struct {
	Increments *increments.Increments
	Window     scoreboard.Window // in which repeats are recognised
	Log        *slog.Logger
}

// tokenRetention is how long a used action token is remembered: until the last increment
// that was accepted while the token was valid may have been delivered.
func (s Sweeper) tokenRetention() time.Duration {
	return scoreboard.MaxActionTTL + s.rejectionRetention()
}

// rejectionRetention is how long a rejection is remembered: for as long as a record of
// the increment may be delivered again.
func (s Sweeper) rejectionRetention() time.Duration {
	return s.Window.Guaranteed() + 2*scoreboard.MaxClockSkew
}

// Run sweeps at sweepInterval until ctx ends.
func (s Sweeper) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		for what, sweep := range map[string]func(context.Context) (int64, error){
			"used action tokens": func(ctx context.Context) (int64, error) {
				return s.Increments.DeleteUsedTokens(ctx, time.Now().Add(-s.tokenRetention()), sweepBatch)
			},
			"rejections": func(ctx context.Context) (int64, error) {
				return s.Increments.DeleteRejections(
					ctx, time.Now().Add(-s.rejectionRetention()), maxRejections, sweepBatch,
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
