package ranking

import (
	"context"
	"fmt"
	"time"
)

// leaderKey is the lease of the one process that announces notices.
const leaderKey = "sb:announcer"

// Lead acquires or renews the lease of the announcer for owner. False: another
// owner has it.
func (r *Ranking) Lead(ctx context.Context, owner string, life time.Duration) (bool, error) {
	n, err := r.lead.Run(ctx, r.rdb, []string{leaderKey}, owner, life.Milliseconds()).Int64()
	if err != nil {
		return false, translate(fmt.Errorf("acquire the lease of the announcer: %w", err))
	}
	return n == 1, nil
}

// Resign releases the lease before it expires.
func (r *Ranking) Resign(ctx context.Context, owner string) error {
	if err := r.lead.Run(ctx, r.rdb, []string{leaderKey}, owner, 0).Err(); err != nil {
		return translate(fmt.Errorf("release the lease of the announcer: %w", err))
	}
	return nil
}
