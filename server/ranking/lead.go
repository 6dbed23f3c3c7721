package ranking

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/internal/redislease"
)

// leaderKey is the lease of the one process that announces notices.
const leaderKey = "sb:announcer"

// Lead acquires or renews the lease of the announcer for owner. False: another
// owner has it.
func (r *Ranking) Lead(ctx context.Context, owner string, life time.Duration) (bool, error) {
	held, err := redislease.Take(ctx, r.conn.rdb, leaderKey, owner, life)
	return held, translate(err)
}

// Resign releases the lease before it expires.
func (r *Ranking) Resign(ctx context.Context, owner string) error {
	return translate(redislease.Release(ctx, r.conn.rdb, leaderKey, owner))
}
