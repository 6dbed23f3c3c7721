package ranking

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/partitions"
	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/ranking/whole"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

//go:embed lua/apply.lua
var luaApply string

//go:embed lua/heartbeats.lua
var luaHeartbeats string

//go:embed lua/forward.lua
var luaForward string

//go:embed lua/advance.lua
var luaAdvance string

// Ranking is the boards in one Redis, or in a cluster.
type Ranking struct {
	conn       *piece.Conn
	layouts    *partitions.Layouts
	whole      *whole.Boards
	partitions *partitions.Boards
	pieces     *piece.States
	rebuilds   *partitions.Rebuilds
	shadows    piece.ShadowScripts
	swap       *redis.Script
	*applier
	*heartbeats
	*histories
	*servers
	*remover
}

// New uses rdb, which the caller closes.
func New(rdb redis.UniversalClient) *Ranking { return newRanking(rdb, false) }

func newRanking(rdb redis.UniversalClient, replica bool) *Ranking {
	c := piece.NewConn(rdb, replica)
	of := &partitions.Layouts{Conn: c}
	p := piece.NewStates(c)
	parts := partitions.New(c, of, p)
	shadows := piece.NewShadowScripts()
	rebuilds := partitions.NewRebuilds(c, of, parts, shadows)
	remove := &remover{Conn: c, layouts: of, rebuilds: rebuilds, onSetAside: func(scoreboard.BoardID, error) {}}
	w := newWitness(c)
	return &Ranking{
		conn: c, layouts: of, whole: whole.New(c, p), partitions: parts, pieces: p,
		rebuilds: rebuilds, shadows: shadows,
		swap:       redis.NewScript(piece.LuaWidth + piece.LuaPut + piece.LuaCounts + piece.LuaStamp + piece.LuaSwap),
		applier:    newApplier(c, of, parts, remove, w),
		heartbeats: &heartbeats{Conn: c, record: redis.NewScript(piece.LuaServer + luaHeartbeats), witness: w},
		histories:  &histories{Conn: c, advance: redis.NewScript(luaAdvance)},
		servers:    &servers{c},
		remover:    remove,
	}
}

// RemoveUnused removes partitions of boards that an interrupted rebuild has left. Those of a
// board that is being rebuilt stay until it is not.
func (r *Ranking) RemoveUnused(ctx context.Context, boards []scoreboard.Board) error {
	return r.rebuilds.RemoveUnused(ctx, boards)
}
