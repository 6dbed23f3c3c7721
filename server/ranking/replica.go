package ranking

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// NewReplica returns a Ranking that only reads, from replicas of the Redis that another
// Ranking writes to. The caller closes rdb. How fresh a board is comes with it, from the
// same server in the same round trip: replicas are not equally fresh.
func NewReplica(rdb redis.UniversalClient) *Ranking {
	return newRanking(rdb, true)
}

// Progress returns how far the boards have come, read now.
func (r *servers) Progress(ctx context.Context) (p scoreboard.Progress, err error) {
	buckets := r.Keys.All()
	fresh := make([]*redis.MapStringStringCmd, len(buckets))
	var history *redis.SliceCmd
	var role *redis.StringCmd
	_, err = r.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, bucket := range buckets {
			fresh[i] = p.HGetAll(ctx, r.Keys.Fresh(bucket))
		}
		history = p.HMGet(ctx, piece.HistoryKey, "id", "adopted")
		if !r.Keys.Clustered { // INFO has no key that would select a server
			role = p.Info(ctx, "replication")
		}
		return nil
	})
	if err != nil {
		return p, piece.Translate(fmt.Errorf("read how far the ranking has come: %w", err))
	}
	for i, answer := range fresh {
		asOf := piece.ParseFreshness(answer.Val()).AsOf
		if asOf.IsZero() {
			p.AsOf = time.Time{}
			break
		}
		if i == 0 || asOf.Before(p.AsOf) {
			p.AsOf = asOf
		}
	}
	p.ID = fmt.Sprint(history.Val())
	// A primary that a replica became is not what it was a replica of. The client of a
	// cluster asks replicas by itself, and follows a promotion.
	p.Replica = role == nil || strings.Contains(role.Val(), "\nrole:slave")
	return p, nil
}
