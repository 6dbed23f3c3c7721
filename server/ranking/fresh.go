package ranking

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// freshLife is how long the ranking's freshness is cached. This can only make an answer look
// older than it is: each read asks its server for the beat that the cached freshness has.
const freshLife = 100 * time.Millisecond

// freshness is how far the changes of all shards and partitions were applied at a
// point in time. Redis may return with an older state: changes that were applied to
// another server, or before a restart, may be missing from its boards. So a time
// counts only for boards that were built on the server that it is true of.
type freshness struct {
	at           time.Time // when it was read
	beat         string    // another one after each heartbeat; a server that is behind has an earlier one
	server       string
	asOf         time.Time // zero while a shard or partition has not reported to server
	formerServer string
	formerAsOf   time.Time
	adopted      int64 // microseconds; boards built from an earlier history are lost
}

// basis is what a board says about itself.
type basis struct {
	server string    // that it was built on
	since  int64     // when the history that it was built from was adopted; 0: never
	asOf   int64     // microseconds: every change committed before it was in the snapshot; 0: unknown
	built  time.Time // when it replaced the board before
}

// evaluate returns the time before which every committed change is in a board, and the
// board's state; scoreboard.ErrNotLoaded if the board is of a history that the store
// has left, or nothing is known of its age: an older build has built it.
func (f *freshness) evaluate(b *basis) (time.Time, scoreboard.BoardState, error) {
	var asOf time.Time
	if b.asOf != 0 {
		asOf = microTime(b.asOf)
	}
	applied := f.asOf
	suspect := f.server != "" && b.server != f.server // an older build names no server
	if suspect {
		applied = time.Time{}
		if b.server == f.formerServer {
			applied = f.formerAsOf
		}
	}
	if applied.After(asOf) {
		asOf = applied
	}
	if b.since < f.adopted || asOf.IsZero() {
		return asOf, scoreboard.StateRebuilding, scoreboard.ErrNotLoaded
	}
	if suspect || asOf.Before(b.built) {
		return asOf, scoreboard.StateCatchingUp, nil
	}
	return asOf, scoreboard.StateHealthy, nil
}

// recent returns the cached freshness of a bucket, or nil if it is too old.
func (r *conn) recent(bucket int) *freshness {
	if known := r.known[bucket].Load(); known != nil && time.Since(known.at) < freshLife {
		return known
	}
	return nil
}

// remember caches the freshness of a bucket. Replicas are not equally fresh, and the next
// read may be of another one.
func (r *conn) remember(bucket int, f *freshness) {
	if !r.replica {
		r.known[bucket].Store(f)
	}
}

// forget makes the next reads ask Redis how fresh it is.
func (r *conn) forget() {
	for i := range r.known {
		r.known[i].Store(nil)
	}
}

// freshness returns how fresh the buckets of boards are; their times are zero if that
// is unknown, and for partitions, which claim nothing: they publish no notice.
func (r *conn) freshness(ctx context.Context, boards []scoreboard.BoardID) []*freshness {
	list := make([]*freshness, len(boards))
	asked := make(map[int]*redis.MapStringStringCmd)
	for i, board := range boards {
		if isPart(board) {
			list[i] = &freshness{}
			continue
		}
		bucket := r.keys.bucket(board)
		if list[i] = r.recent(bucket); list[i] == nil {
			asked[bucket] = nil
		}
	}
	if len(asked) == 0 {
		return list
	}
	_, _ = r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for bucket := range asked {
			asked[bucket] = p.HGetAll(ctx, r.keys.fresh(bucket))
		}
		return nil
	})
	found := make(map[int]*freshness, len(asked))
	for bucket, answer := range asked {
		if answer.Err() != nil {
			found[bucket] = &freshness{}
			continue
		}
		found[bucket] = parseFreshness(answer.Val())
		r.remember(bucket, found[bucket])
	}
	for i, board := range boards {
		if list[i] == nil {
			list[i] = found[r.keys.bucket(board)]
		}
	}
	return list
}

// parseFreshness reads what heartbeats.lua has written.
func parseFreshness(fresh map[string]string) *freshness {
	f := &freshness{at: time.Now(), beat: fresh["beat"], server: fresh["server"], asOf: earliest(fresh)}
	if text, server, ok := strings.Cut(fresh["former"], " "); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			f.formerServer, f.formerAsOf = server, microTime(n)
		}
	}
	f.adopted, _ = strconv.ParseInt(fresh["adopted"], 10, 64) // 0 if missing
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
			n, err := strconv.ParseInt(fresh[freshField(shard, partition)], 10, 64)
			if err != nil {
				return time.Time{}
			}
			if oldest == 0 || n < oldest {
				oldest = n
			}
		}
	}
	return microTime(oldest)
}
