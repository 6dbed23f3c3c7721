package ranking

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

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

//go:embed lua/top.lua
var luaTop string

//go:embed lua/place.lua
var luaPlace string

//go:embed lua/ranks.lua
var luaRanks string

// ErrCold says that Redis does not hold the board: it was flushed, or never
// filled. A rebuild makes it warm.
var ErrCold = errors.New("the ranking does not hold this board")

// Ranking is the boards in one Redis.
type Ranking struct {
	rdb                                          redis.UniversalClient
	apply, fill, swap, mark, top, place, ranking *redis.Script
}

// New uses rdb, which the caller closes.
func New(rdb redis.UniversalClient) *Ranking {
	return &Ranking{
		rdb:     rdb,
		apply:   redis.NewScript(luaPut + luaApply),
		fill:    redis.NewScript(luaPut + luaFill),
		swap:    redis.NewScript(luaPut + luaSwap),
		mark:    redis.NewScript(luaMark),
		top:     redis.NewScript(luaTop),
		place:   redis.NewScript(luaPlace),
		ranking: redis.NewScript(luaRanks),
	}
}

// Apply puts changes, of any boards and in any order, into the ranking where
// they are newer than what is there. Boards that are cold are returned: their
// changes are in the store, and a rebuild started from now on will find them.
func (r *Ranking) Apply(ctx context.Context, changes []scoreboard.Change) (cold []scoreboard.BoardID, err error) {
	for board, mine := range byBoard(changes) {
		args := make([]any, 4, 4+5*len(mine))
		args[0], args[1] = channel, string(board)
		updated := time.Time{}
		moved := make([]byte, 0, 48*len(mine))
		for _, c := range mine {
			args = appendChange(args, c)
			moved = appendMoved(moved, c)
			if c.RecordedAt.After(updated) {
				updated = c.RecordedAt
			}
		}
		args[2], args[3] = updated.UnixMicro(), moved
		applied, err := r.apply.Run(ctx, r.rdb, allKeys(board), args...).Int64()
		if err != nil {
			return nil, fmt.Errorf("apply %d changes to board %s: %w", len(mine), board, err)
		}
		if applied < 0 {
			cold = append(cold, board)
		}
	}
	return cold, nil
}

// byBoard keeps the newest change of each user on each board.
func byBoard(changes []scoreboard.Change) map[scoreboard.BoardID]map[scoreboard.UserID]*scoreboard.Change {
	boards := make(map[scoreboard.BoardID]map[scoreboard.UserID]*scoreboard.Change, 1)
	for i := range changes {
		c := &changes[i]
		users := boards[c.Board]
		if users == nil {
			users = make(map[scoreboard.UserID]*scoreboard.Change, len(changes))
			boards[c.Board] = users
		}
		if had := users[c.User]; had == nil || c.Revision > had.Revision {
			users[c.User] = c
		}
	}
	return boards
}

func appendChange(args []any, c *scoreboard.Change) []any {
	hidden := "0"
	if c.Hidden {
		hidden = "1"
	}
	return append(args, string(c.User), strconv.FormatInt(c.Revision, 10), strconv.FormatInt(c.Key, 10), prefix(c.ReachedAt), hidden)
}

// Fresh records up to when each shard's changes of a partition are applied.
func (r *Ranking) Fresh(ctx context.Context, until map[string]time.Time) error {
	fields := make([]any, 0, 2*len(until))
	for field, t := range until {
		fields = append(fields, field, t.UnixMicro())
	}
	if err := r.rdb.HSet(ctx, freshKey, fields...).Err(); err != nil {
		return fmt.Errorf("record how fresh the ranking is: %w", err)
	}
	return nil
}

// Ping says whether Redis answers.
func (r *Ranking) Ping(ctx context.Context) error {
	if err := r.rdb.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ping Redis: %w", err)
	}
	return nil
}
