package partitions

import (
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
)

// Boards reads boards in partitions, and merges their tops.
type Boards struct {
	*piece.Conn
	layouts          *Layouts
	pieces           *piece.States
	part, top, merge *redis.Script
	lookups          lookups
}

// New reads and repairs by c; of says which boards are in partitions.
func New(c *piece.Conn, of *Layouts, p *piece.States) *Boards {
	return &Boards{
		Conn: c, layouts: of, pieces: p,
		part:    redis.NewScript(piece.LuaWidth + piece.LuaCounts + piece.LuaSearch + piece.LuaTies + luaPart),
		top:     redis.NewScript(luaTop),
		merge:   redis.NewScript(luaMerge),
		lookups: lookups{waiting: make(map[piece.Layout][]*lookup)},
	}
}
