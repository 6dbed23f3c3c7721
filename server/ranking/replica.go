package ranking

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// NewReplica returns a Ranking that only reads, from replicas of the Redis that another
// Ranking writes to. The caller closes rdb. How fresh a board is comes with it, from the
// same server in the same round trip: replicas are not equally fresh.
func NewReplica(rdb redis.UniversalClient) *Ranking {
	return newRanking(rdb, true)
}

// replicaOf returns a client of one replica of a bucket: a client of a cluster would send
// each command of a pipeline to any of them.
func (r *conn) replicaOf(ctx context.Context, bucket int) (redis.UniversalClient, error) {
	cluster, ok := r.rdb.(*redis.ClusterClient)
	if !ok {
		return r.rdb, nil
	}
	return cluster.SlaveForKey(ctx, r.keys.fresh(bucket))
}

// Progress returns how far the boards have come, read now.
func (r *servers) Progress(ctx context.Context) (p scoreboard.Progress, err error) {
	buckets := r.keys.all()
	fresh := make([]*redis.MapStringStringCmd, len(buckets))
	var history *redis.SliceCmd
	var role *redis.StringCmd
	_, err = r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, bucket := range buckets {
			fresh[i] = p.HGetAll(ctx, r.keys.fresh(bucket))
		}
		history = p.HMGet(ctx, historyKey, "id", "adopted")
		if !r.keys.clustered { // INFO has no key that would select a server
			role = p.Info(ctx, "replication")
		}
		return nil
	})
	if err != nil {
		return p, translate(fmt.Errorf("read how far the ranking has come: %w", err))
	}
	for i, answer := range fresh {
		asOf := parseFreshness(answer.Val()).asOf
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
