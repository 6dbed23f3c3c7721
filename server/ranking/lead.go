package ranking

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/internal/redislease"
	"github.com/scoreboard/scoreboard/server/ranking/piece"
)

// leaderKey is the lease of the one process that announces notices.
const leaderKey = "sb:announcer"

// Lead acquires or renews the lease of the announcer for owner. False: another
// owner has it.
func (r *Ranking) Lead(ctx context.Context, owner string, ttl time.Duration) (bool, error) {
	held, err := redislease.Take(ctx, r.conn.Redis, leaderKey, owner, ttl)
	return held, piece.Translate(err)
}

// Resign releases the lease before it expires.
func (r *Ranking) Resign(ctx context.Context, owner string) error {
	return piece.Translate(redislease.Release(ctx, r.conn.Redis, leaderKey, owner))
}
