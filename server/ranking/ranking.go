package ranking

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
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

//go:embed lua/lead.lua
var luaLead string

//go:embed lua/seal.lua
var luaSeal string

//go:embed lua/advance.lua
var luaAdvance string

// Ranking is the boards in one Redis, or in a cluster.
type Ranking struct {
	rdb                                redis.UniversalClient
	keys                               keyspace
	apply, fill, swap, mark, unmark    *redis.Script
	heartbeats, top, page, place, list *redis.Script
	ranking, states, repair, lead      *redis.Script
	fence, orphans, advance, trusted   *redis.Script
	known                              []atomic.Pointer[freshness] // by bucket
	spread                             atomic.Int64                // as of, in every bucket of a cluster; microseconds
	replica                            bool                        // rdb may be several servers, and only reads
}

// New uses rdb, which the caller closes.
func New(rdb redis.UniversalClient) *Ranking {
	_, clustered := rdb.(*redis.ClusterClient)
	keys := keyspace{clustered}
	return &Ranking{
		rdb: rdb, keys: keys, known: make([]atomic.Pointer[freshness], keys.buckets()),
		apply:      redis.NewScript(luaPut + luaApply),
		fill:       redis.NewScript(luaPut + luaFill),
		swap:       redis.NewScript(luaPut + luaSeal + luaSwap),
		mark:       redis.NewScript(luaServer + luaSeal + luaMark),
		unmark:     redis.NewScript(luaUnmark),
		heartbeats: redis.NewScript(luaServer + luaHeartbeats),
		states:     redis.NewScript(luaStates),
		repair:     redis.NewScript(luaPut + luaRepair),
		top:        redis.NewScript(luaTop),
		page:       redis.NewScript(luaPage),
		place:      redis.NewScript(luaPlace),
		list:       redis.NewScript(luaList),
		ranking:    redis.NewScript(luaRanks),
		lead:       redis.NewScript(luaLead),
		fence:      redis.NewScript(luaSeal + luaFence),
		orphans:    redis.NewScript(luaPut + luaOrphans),
		advance:    redis.NewScript(luaAdvance),
		trusted:    redis.NewScript(luaServer + luaTrusted),
	}
}

// maxApplied is the maximum number of changes per script call: Lua cannot unpack
// more than a few thousand arguments.
const maxApplied = 1000

// Apply applies changes, of any boards and in any order, that are newer than the
// ranking's state. It returns the boards that are not loaded: their changes are in
// the store, and a rebuild started from now on includes them. Changes of a history
// that the store has lost are skipped.
func (r *Ranking) Apply(
	ctx context.Context, changes []scoreboard.Change,
) (notLoaded []scoreboard.BoardID, err error) {
	for len(changes) > 0 {
		n := min(len(changes), maxApplied)
		part := changes[:n]
		boards, traces := byBoard(part)
		changes = changes[n:]
		names := slices.Sorted(maps.Keys(boards))
		fresh := r.freshness(ctx, names) // before the changes, so that a board includes all that it claims
		answers := make([]*redis.Cmd, len(names))
		err := r.pipelined(ctx, func(run func(*redis.Script, []string, ...any) *redis.Cmd) {
			for i, board := range names {
				arguments := applyArguments(board, boards[board], fresh[i], traces[board])
				answers[i] = run(r.apply, r.keys.both(board), arguments...)
			}
		})
		var rest []scoreboard.Change // of boards that rejected the batch for some of them
		for i, board := range names {
			applied, answerErr := answers[i].Int64()
			switch {
			case answerErr != nil:
				err = translate(fmt.Errorf("apply %d changes to board %s: %w", len(boards[board]), board, answerErr))
			case applied < -1:
				rest = appendSince(rest, part, board, time.UnixMicro(-applied))
			case applied < 0 && !slices.Contains(notLoaded, board):
				notLoaded = append(notLoaded, board)
			}
		}
		if err != nil {
			return nil, err
		}
		changes = append(rest, changes...)
	}
	return notLoaded, nil
}

// pipelined runs scripts in one round trip, and again if Redis, or a server of the
// cluster, did not have one loaded: scripts must be idempotent. It returns the first
// error; each script has its own, because servers of a cluster fail independently.
func (r *Ranking) pipelined(
	ctx context.Context,
	queue func(run func(*redis.Script, []string, ...any) *redis.Cmd),
) error {
	done, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		queue(func(s *redis.Script, keys []string, args ...any) *redis.Cmd { return s.EvalSha(ctx, p, keys, args...) })
		return nil
	})
	unknown := func(c redis.Cmder) bool { return redis.HasErrorPrefix(c.Err(), "NOSCRIPT") }
	if err == nil || !slices.ContainsFunc(done, unknown) {
		return err
	}
	_, err = r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		queue(func(s *redis.Script, keys []string, args ...any) *redis.Cmd { return s.Eval(ctx, p, keys, args...) })
		return nil
	})
	return err
}

func applyArguments(
	board scoreboard.BoardID, changes map[scoreboard.UserID]*scoreboard.Change, fresh *freshness, trace string,
) []any {
	args := make([]any, 7, 7+6*len(changes))
	var updated, oldest time.Time
	moved := make([]byte, 0, 48*len(changes))
	complete := appendAsOf(nil, fresh.asOf)
	hidden := false
	for _, c := range changes {
		args = appendChange(args, c)
		moved = appendMoved(moved, c)
		complete = appendReached(complete, c)
		hidden = hidden || c.Hidden
		if c.RecordedAt.After(updated) {
			updated = c.RecordedAt
		}
		if oldest.IsZero() || c.RecordedAt.Before(oldest) {
			oldest = c.RecordedAt
		}
	}
	switch {
	case hidden:
		moved = append(moved, hides...)
	case trace != "":
		moved = append(append(append(moved, traced...), trace...), ' ')
	}
	if hidden || fresh.asOf.IsZero() {
		complete = nil // readers read the board again
	}
	args[0], args[1], args[2], args[3] = channel, string(board), updated.UnixMicro(), moved
	args[4], args[5], args[6] = oldest.UnixMicro(), complete, fresh.server
	return args
}

// appendSince appends a board's changes that were recorded at since or later.
func appendSince(to, changes []scoreboard.Change, board scoreboard.BoardID, since time.Time) []scoreboard.Change {
	for i := range changes {
		if c := &changes[i]; c.Board == board && !c.RecordedAt.Before(since) {
			to = append(to, *c)
		}
	}
	return to
}

// byBoard keeps the newest change of each user on each board, and the trace of one
// sampled change on each board that has any.
func byBoard(changes []scoreboard.Change) (
	boards map[scoreboard.BoardID]map[scoreboard.UserID]*scoreboard.Change, traces map[scoreboard.BoardID]string,
) {
	boards = make(map[scoreboard.BoardID]map[scoreboard.UserID]*scoreboard.Change, 1)
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
		if c.Trace != "" {
			if traces == nil {
				traces = make(map[scoreboard.BoardID]string)
			}
			traces[c.Board] = c.Trace
		}
	}
	return boards, traces
}

func appendChange(args []any, c *scoreboard.Change) []any {
	hidden := "0"
	if c.Hidden {
		hidden = "1"
	}
	return append(
		args, string(c.User), strconv.FormatInt(c.Revision, 10), strconv.FormatInt(c.Key, 10), prefix(c.ReachedAt),
		strconv.FormatInt(c.Version, 10), hidden,
	)
}
