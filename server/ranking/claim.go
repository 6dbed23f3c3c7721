package ranking

import (
	"context"
	"fmt"
	"time"
)

// claimKey marks a task that one of several processes has done, or is doing.
func claimKey(task string) string { return "sb:once:" + task }

// Claim reports whether the caller is the first to claim a task for the next
// period.
func (r *Ranking) Claim(ctx context.Context, task string, period time.Duration) (bool, error) {
	first, err := r.rdb.SetNX(ctx, claimKey(task), time.Now().UTC().Format(time.RFC3339), period).Result()
	if err != nil {
		return false, translate(fmt.Errorf("claim the task %s: %w", task, err))
	}
	return first, nil
}

// ReleaseClaim lets another process claim the task, after the caller has failed.
func (r *Ranking) ReleaseClaim(ctx context.Context, task string) error {
	if err := r.rdb.Del(ctx, claimKey(task)).Err(); err != nil {
		return translate(fmt.Errorf("release the task %s: %w", task, err))
	}
	return nil
}
