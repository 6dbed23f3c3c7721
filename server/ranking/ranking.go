package ranking

import (
	"context"
	_ "embed"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
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

//go:embed lua/counts.lua
var luaCounts string

//go:embed lua/basis.lua
var luaBasis string

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
	rdb                                redis.UniversalClient
	keys                               keyspace
	apply, fill, swap, mark, unmark    *redis.Script
	heartbeats, top, page, place, list *redis.Script
	ranking, states, repair            *redis.Script
	fence, orphans, advance, trusted   *redis.Script
	basis                              *redis.Script
	part, head, merge, begin, reserve  *redis.Script               // of boards in partitions
	redirect, forward, join            *redis.Script               // likewise
	discardPart, forgetLayout          *redis.Script               // likewise
	quiet                              quietScripts                // likewise
	relayouts                          sync.Map                    // by rebuildKey: the rebuilds of this process
	layouts                            sync.Map                    // by board: the number of partitions, if several
	lookups                            lookups                     // of boards in partitions
	known                              []atomic.Pointer[freshness] // by bucket
	spread                             atomic.Int64                // as of, in every bucket of a cluster; microseconds
	witness                            *witness
	onSetAside                         func(scoreboard.BoardID, error)
	replica                            bool // rdb may be several servers, and only reads
}

// quietScripts are scripts that change a partition: they publish nothing.
type quietScripts struct{ apply, swap, repair, orphans *redis.Script }

// New uses rdb, which the caller closes.
func New(rdb redis.UniversalClient) *Ranking {
	_, clustered := rdb.(*redis.ClusterClient)
	keys := keyspace{clustered}
	return &Ranking{
		rdb: rdb, keys: keys, known: make([]atomic.Pointer[freshness], keys.buckets()),
		lookups:      lookups{waiting: make(map[layout][]*lookup)},
		witness:      newWitness(keys.total() + 1),
		onSetAside:   func(scoreboard.BoardID, error) {},
		basis:        redis.NewScript(luaCounts + luaBasis),
		apply:        redis.NewScript(luaPut + luaCounts + luaApply),
		fill:         redis.NewScript(luaPut + luaFill),
		swap:         redis.NewScript(luaPut + luaCounts + luaSeal + luaSwap),
		mark:         redis.NewScript(luaServer + luaSeal + luaMark),
		unmark:       redis.NewScript(luaUnmark),
		heartbeats:   redis.NewScript(luaServer + luaHeartbeats),
		states:       redis.NewScript(luaCounts + luaStates),
		repair:       redis.NewScript(luaPut + luaCounts + luaRepair),
		top:          redis.NewScript(luaCounts + luaTop),
		page:         redis.NewScript(luaCounts + luaSearch + luaPage),
		place:        redis.NewScript(luaCounts + luaPlace),
		list:         redis.NewScript(luaCounts + luaList),
		ranking:      redis.NewScript(luaCounts + luaRanks),
		fence:        redis.NewScript(luaSeal + luaFence),
		orphans:      redis.NewScript(luaPut + luaCounts + luaOrphans),
		advance:      redis.NewScript(luaAdvance),
		trusted:      redis.NewScript(luaServer + luaTrusted),
		part:         redis.NewScript(luaCounts + luaSearch + luaPart),
		head:         redis.NewScript(luaHead),
		merge:        redis.NewScript(luaMerge),
		begin:        redis.NewScript(luaDivide + luaBegin),
		reserve:      redis.NewScript(luaDivide + luaReserve),
		redirect:     redis.NewScript(luaSeal + luaRedirect),
		forward:      redis.NewScript(luaPut + luaForward),
		join:         redis.NewScript(luaPut + luaCounts + luaSeal + luaJoin + luaSwap),
		discardPart:  redis.NewScript(luaDiscard),
		forgetLayout: redis.NewScript(luaForget),
		quiet: quietScripts{
			apply:   redis.NewScript(luaPut + luaQuiet + luaCounts + luaApply),
			swap:    redis.NewScript(luaPut + luaQuiet + luaCounts + luaSeal + luaSwap),
			repair:  redis.NewScript(luaPut + luaQuiet + luaCounts + luaRepair),
			orphans: redis.NewScript(luaPut + luaQuiet + luaCounts + luaOrphans),
		},
	}
}

// pipelined runs scripts in one round trip, and again if Redis, or a server of the
// cluster, did not have one loaded: scripts must be idempotent. It returns the first
// error; each script has its own, because servers of a cluster fail independently.
func (r *Ranking) pipelined(
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
