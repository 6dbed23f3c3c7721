package ranking

import (
	"context"
	"fmt"
	"time"
)

// onceKey marks that something that several processes could do is done, or
// being done, for some time.
func onceKey(what string) string { return "sb:once:" + what }

// Claim reports whether the caller is to do something that is to be done once in
// so long, by whichever process comes first.
func (r *Ranking) Claim(ctx context.Context, what string, in time.Duration) (bool, error) {
	first, err := r.rdb.SetNX(ctx, onceKey(what), time.Now().UTC().Format(time.RFC3339), in).Result()
	if err != nil {
		return false, fmt.Errorf("ask whether to %s: %w", what, err)
	}
	return first, nil
}

// ReleaseClaim lets somebody do it anew: it has failed.
func (r *Ranking) ReleaseClaim(ctx context.Context, what string) error {
	if err := r.rdb.Del(ctx, onceKey(what)).Err(); err != nil {
		return fmt.Errorf("let somebody %s again: %w", what, err)
	}
	return nil
}
