package piece

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Runner queues a script in a pipeline.
type Runner = func(*redis.Script, []string, ...any) *redis.Cmd

// Each runs a script for each name in one round trip, once, and calls then with what it
// returned.
func (r *Conn) Each(
	ctx context.Context, names []scoreboard.BoardID, script func(Runner, scoreboard.BoardID) *redis.Cmd,
	then func(scoreboard.BoardID, int64) error,
) error {
	if len(names) == 0 {
		return nil
	}
	answers := make([]*redis.Cmd, len(names))
	_, _ = r.Redis.Pipelined(ctx, func(p redis.Pipeliner) error { // each answer has its own error
		for i, name := range names {
			answers[i] = script(func(s *redis.Script, keys []string, args ...any) *redis.Cmd {
				return s.EvalSha(ctx, p, keys, args...)
			}, name)
		}
		return nil
	})
	for i, name := range names {
		if redis.HasErrorPrefix(answers[i].Err(), "NOSCRIPT") { // on this server
			answers[i] = script(func(s *redis.Script, keys []string, args ...any) *redis.Cmd {
				return s.Eval(ctx, r.Redis, keys, args...)
			}, name)
		}
	}
	for i, name := range names {
		n, err := answers[i].Int64()
		if err == nil {
			err = then(name, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// EachServer calls do with the server, or with every primary of a cluster at once. It
// returns the first error.
func (r *Conn) EachServer(ctx context.Context, do func(context.Context, *redis.Client) error) error {
	switch rdb := r.Redis.(type) {
	case *redis.ClusterClient:
		return rdb.ForEachMaster(ctx, do)
	case *redis.Client:
		return do(ctx, rdb)
	}
	return fmt.Errorf("unknown client of Redis: %T", r.Redis)
}

// Conn is a connection to the Redis with the boards.
type Conn struct {
	Redis   redis.UniversalClient
	Keys    Keyspace
	Known   []atomic.Pointer[Freshness] // by bucket
	Trusted *redis.Script
	Replica bool // rdb may be several servers, and only reads
}

// NewConn uses rdb, which the caller closes; replica says that it is for reads only.
func NewConn(rdb redis.UniversalClient, replica bool) *Conn {
	_, clustered := rdb.(*redis.ClusterClient)
	keys := Keyspace{clustered}
	return &Conn{
		Redis: rdb, Keys: keys, Known: make([]atomic.Pointer[Freshness], keys.Buckets()),
		Trusted: redis.NewScript(LuaServer + LuaTrusted), Replica: replica,
	}
}

// Pipelined runs scripts in one round trip, and again if Redis, or a server of the
// cluster, did not have one loaded: scripts must be idempotent. It returns the first
// error; each script has its own, because servers of a cluster fail independently.
func (r *Conn) Pipelined(
	ctx context.Context,
	queue func(run func(*redis.Script, []string, ...any) *redis.Cmd),
) error {
	byHash, whole := (*redis.Script).EvalSha, (*redis.Script).Eval
	if r.Replica { // the client of a cluster sends what only reads to replicas
		byHash, whole = (*redis.Script).EvalShaRO, (*redis.Script).EvalRO
	}
	send := func(eval func(*redis.Script, context.Context, redis.Scripter, []string, ...any) *redis.Cmd) (
		[]redis.Cmder, error,
	) {
		return r.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			queue(func(s *redis.Script, keys []string, args ...any) *redis.Cmd {
				return eval(s, ctx, p, keys, args...)
			})
			return nil
		})
	}
	done, err := send(byHash)
	unknown := func(c redis.Cmder) bool { return redis.HasErrorPrefix(c.Err(), "NOSCRIPT") }
	if err == nil || !slices.ContainsFunc(done, unknown) {
		return err
	}
	_, err = send(whole)
	return err
}

// ReplicaOf returns a client of one replica of a bucket: a client of a cluster would send
// each command of a pipeline to any of them.
func (r *Conn) ReplicaOf(ctx context.Context, bucket int) (redis.UniversalClient, error) {
	cluster, ok := r.Redis.(*redis.ClusterClient)
	if !ok {
		return r.Redis, nil
	}
	return cluster.SlaveForKey(ctx, r.Keys.Fresh(bucket))
}

// BoardsPerTrip is how many boards are checked in one round trip.
const BoardsPerTrip = 500

// Holder is the server that holds a bucket, when the store's history was adopted, and before
// when no board may have been claimed.
type Holder struct {
	Server           string // its process and its replication history; empty on a stand-in
	adopted, doubted int64
}

// Doubts reports whether a board must be rebuilt before it can be trusted.
func (h *Holder) Doubts(b *Basis) bool {
	return h != nil && (b.Server != h.Server || b.Since < h.adopted || b.RebuildBegan < h.doubted)
}

// Trust returns the holders of buckets, without those that did not answer, and the
// first error.
func (r *Conn) Trust(ctx context.Context, buckets []int) (map[int]*Holder, error) {
	answers := make([]*redis.Cmd, len(buckets))
	err := r.Pipelined(ctx, func(run func(*redis.Script, []string, ...any) *redis.Cmd) {
		for i, bucket := range buckets {
			answers[i] = run(r.Trusted, []string{r.Keys.Fresh(bucket)})
		}
	})
	if err != nil {
		err = Translate(fmt.Errorf("read the identity of Redis: %w", err))
	}
	found := make(map[int]*Holder, len(buckets))
	for i, bucket := range buckets {
		if text, answerErr := answers[i].StringSlice(); answerErr == nil && len(text) == 3 {
			adopted, _ := strconv.ParseInt(text[1], 10, 64) // it was stored by Distrust
			doubted, _ := strconv.ParseInt(text[2], 10, 64) // and this by heartbeats.lua
			found[bucket] = &Holder{text[0], adopted, doubted}
		}
	}
	return found, err
}
