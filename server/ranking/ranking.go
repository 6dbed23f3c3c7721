package ranking

import (
	"context"
	_ "embed"
	"slices"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/put.lua
var luaPut string

//go:embed lua/apply.lua
var luaApply string

//go:embed lua/fill.lua
var luaFill string

//go:embed lua/swap.lua
var luaSwap string

//go:embed lua/mark.lua
var luaMark string

//go:embed lua/server.lua
var luaServer string

//go:embed lua/trusted.lua
var luaTrusted string

//go:embed lua/unmark.lua
var luaUnmark string

//go:embed lua/heartbeats.lua
var luaHeartbeats string

//go:embed lua/states.lua
var luaStates string

//go:embed lua/repair.lua
var luaRepair string

//go:embed lua/top.lua
var luaTop string

//go:embed lua/place.lua
var luaPlace string

//go:embed lua/search.lua
var luaSearch string

//go:embed lua/page.lua
var luaPage string

//go:embed lua/list.lua
var luaList string

//go:embed lua/ranks.lua
var luaRanks string

//go:embed lua/orphans.lua
var luaOrphans string

//go:embed lua/fence.lua
var luaFence string

//go:embed lua/seal.lua
var luaSeal string

//go:embed lua/quiet.lua
var luaQuiet string

//go:embed lua/part.lua
var luaPart string

//go:embed lua/head.lua
var luaHead string

//go:embed lua/merge.lua
var luaMerge string

//go:embed lua/divide.lua
var luaDivide string

//go:embed lua/begin.lua
var luaBegin string

//go:embed lua/reserve.lua
var luaReserve string

//go:embed lua/redirect.lua
var luaRedirect string

//go:embed lua/forward.lua
var luaForward string

//go:embed lua/join.lua
var luaJoin string

//go:embed lua/discard.lua
var luaDiscard string

//go:embed lua/forget.lua
var luaForget string

//go:embed lua/advance.lua
var luaAdvance string

// Ranking is the boards in one Redis, or in a cluster.
type Ranking struct {
	conn       *conn
	layouts    *layouts
	whole      *whole
	partitions *partitions
	pieces     *pieces
	shadows    shadowScripts
	swap       *redis.Script
	*applier
	*rebuilds
	*heartbeats
	*histories
	*servers
}

// conn is a connection to the Redis with the boards.
type conn struct {
	rdb     redis.UniversalClient
	keys    keyspace
	known   []atomic.Pointer[freshness] // by bucket
	trusted *redis.Script
	replica bool // rdb may be several servers, and only reads
}

// New uses rdb, which the caller closes.
func New(rdb redis.UniversalClient) *Ranking { return newRanking(rdb, false) }

func newRanking(rdb redis.UniversalClient, replica bool) *Ranking {
	_, clustered := rdb.(*redis.ClusterClient)
	keys := keyspace{clustered}
	c := &conn{
		rdb: rdb, keys: keys, known: make([]atomic.Pointer[freshness], keys.buckets()),
		trusted: redis.NewScript(luaServer + luaTrusted), replica: replica,
	}
	of := &layouts{conn: c}
	p := newPieces(c)
	parts := newPartitions(c, of, p)
	shadows := newShadowScripts()
	return &Ranking{
		conn: c, layouts: of, whole: newWhole(c, p), partitions: parts, pieces: p,
		rebuilds: newRebuilds(c, of, parts, shadows), shadows: shadows,
		swap:       redis.NewScript(luaPut + luaSeal + luaSwap),
		applier:    newApplier(c, of, parts),
		heartbeats: &heartbeats{conn: c, record: redis.NewScript(luaServer + luaHeartbeats)},
		histories:  &histories{conn: c, advance: redis.NewScript(luaAdvance)},
		servers:    &servers{c},
	}
}

// pipelined runs scripts in one round trip, and again if Redis, or a server of the
// cluster, did not have one loaded: scripts must be idempotent. It returns the first
// error; each script has its own, because servers of a cluster fail independently.
func (r *conn) pipelined(
	ctx context.Context,
	queue func(run func(*redis.Script, []string, ...any) *redis.Cmd),
) error {
	byHash, whole := (*redis.Script).EvalSha, (*redis.Script).Eval
	if r.replica { // the client of a cluster sends what only reads to replicas
		byHash, whole = (*redis.Script).EvalShaRO, (*redis.Script).EvalRO
	}
	send := func(eval func(*redis.Script, context.Context, redis.Scripter, []string, ...any) *redis.Cmd) (
		[]redis.Cmder, error,
	) {
		return r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
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
