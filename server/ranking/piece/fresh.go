package piece

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// freshTTL is how long the ranking's freshness is cached. This can only make an answer look
// older than it is: each read asks its server for the beat that the cached freshness has.
const freshTTL = 100 * time.Millisecond

// Freshness is how far the changes of all shards and partitions were applied at a
// point in time. Redis may return with an older state: changes that were applied to
// another server, or before a restart, may be missing from its boards. So a time
// counts only for boards that were built on the server that it is true of.
type Freshness struct {
	at           time.Time // when it was read
	Beat         string    // another one after each heartbeat; a server that is behind has an earlier one
	Server       string
	AsOf         time.Time // zero while a shard or partition has not reported to server
	formerServer string
	formerAsOf   time.Time
	adopted      int64 // microseconds; boards built from an earlier history are lost
	doubted      int64 // microseconds of Server; boards claimed before it may lack changes
}

// Basis is what a board says about itself.
type Basis struct {
	Server       string    // that it was built on
	Since        int64     // when the history that it was built from was adopted; 0: never
	AsOf         int64     // microseconds: every change committed before it was in the snapshot; 0: unknown
	Built        time.Time // when it replaced the board before
	RebuildBegan int64     // microseconds of Server: when its rebuild began
}

// Evaluate returns the time before which every committed change is in a board, and the
// board's state; scoreboard.ErrNotLoaded if the board is of a history that the store
// has left, or nothing is known of its age.
func (f *Freshness) Evaluate(b *Basis) (time.Time, scoreboard.BoardState, error) {
	var asOf time.Time
	if b.AsOf != 0 {
		asOf = MicroTime(b.AsOf)
	}
	applied := f.AsOf
	suspect := f.Server != "" && b.Server != f.Server || b.RebuildBegan < f.doubted
	if suspect {
		applied = time.Time{}
		if b.Server == f.formerServer {
			applied = f.formerAsOf
		}
	}
	if applied.After(asOf) {
		asOf = applied
	}
	if b.Since < f.adopted || asOf.IsZero() {
		return asOf, scoreboard.StateRebuilding, scoreboard.ErrNotLoaded
	}
	if suspect || asOf.Before(b.Built) {
		return asOf, scoreboard.StateCatchingUp, nil
	}
	return asOf, scoreboard.StateHealthy, nil
}

// Recent returns the cached freshness of a bucket, or nil if it is too old.
func (r *Conn) Recent(bucket int) *Freshness {
	if known := r.Known[bucket].Load(); known != nil && time.Since(known.at) < freshTTL {
		return known
	}
	return nil
}

// Remember caches the freshness of a bucket. Replicas are not equally fresh, and the next
// read may be of another one.
func (r *Conn) Remember(bucket int, f *Freshness) {
	if !r.Replica {
		r.Known[bucket].Store(f)
	}
}

// Forget makes the next reads ask Redis how fresh it is.
func (r *Conn) Forget() {
	for i := range r.Known {
		r.Known[i].Store(nil)
	}
}

// Freshness returns how fresh the buckets of boards are; their times are zero if that
// is unknown, and for partitions, which claim nothing: they publish no notice.
func (r *Conn) Freshness(ctx context.Context, boards []scoreboard.BoardID) []*Freshness {
	list := make([]*Freshness, len(boards))
	asked := make(map[int]*redis.MapStringStringCmd)
	for i, board := range boards {
		if IsPart(board) {
			list[i] = &Freshness{}
			continue
		}
		bucket := r.Keys.Bucket(board)
		if list[i] = r.Recent(bucket); list[i] == nil {
			asked[bucket] = nil
		}
	}
	if len(asked) == 0 {
		return list
	}
	_, _ = r.Redis.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for bucket := range asked {
			asked[bucket] = p.HGetAll(ctx, r.Keys.Fresh(bucket))
		}
		return nil
	})
	found := make(map[int]*Freshness, len(asked))
	for bucket, answer := range asked {
		if answer.Err() != nil {
			found[bucket] = &Freshness{}
			continue
		}
		found[bucket] = ParseFreshness(answer.Val())
		r.Remember(bucket, found[bucket])
	}
	for i, board := range boards {
		if list[i] == nil {
			list[i] = found[r.Keys.Bucket(board)]
		}
	}
	return list
}

// ParseFreshness reads what heartbeats.lua has written.
func ParseFreshness(fresh map[string]string) *Freshness {
	f := &Freshness{at: time.Now(), Beat: fresh["beat"], Server: fresh["server"], AsOf: earliest(fresh)}
	if text, server, ok := strings.Cut(fresh["former"], " "); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			f.formerServer, f.formerAsOf = server, MicroTime(n)
		}
	}
	f.adopted, _ = strconv.ParseInt(fresh["adopted"], 10, 64) // 0 if missing
	f.doubted, _ = strconv.ParseInt(fresh["doubted"], 10, 64) // likewise
	return f
}

// earliest returns the earliest time of all shards and partitions. Zero while one has
// not reported.
func earliest(fresh map[string]string) time.Time {
	of, rest, _ := strings.Cut(fresh["of"], "/")
	shards, err := strconv.Atoi(of)
	partitions, restErr := strconv.Atoi(rest)
	if err != nil || restErr != nil || partitions < 1 {
		return time.Time{}
	}
	var oldest int64
	for shard := range shards {
		for partition := range partitions {
			n, err := strconv.ParseInt(fresh[FreshField(shard, partition)], 10, 64)
			if err != nil {
				return time.Time{}
			}
			if oldest == 0 || n < oldest {
				oldest = n
			}
		}
	}
	return MicroTime(oldest)
}

// FreshField names the time of a partition of a shard in the record of a bucket.
func FreshField(shard, partition int) string {
	return strconv.Itoa(shard) + "/" + strconv.Itoa(partition)
}
