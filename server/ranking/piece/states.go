package piece

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Orphans calls do with the orphaned members of a piece, in chunks.
func (r *States) Orphans(
	ctx context.Context, name scoreboard.BoardID, do func([]scoreboard.OrphanedMember) error,
) error {
	var cursor uint64
	for {
		found, next, err := r.Redis.ZScan(ctx, r.Keys.Live(name)[1], cursor, "", 1000).Result()
		if err != nil {
			return Translate(fmt.Errorf("list the members of board %s: %w", name, err))
		}
		members := make([]string, 0, len(found)/2)
		for i := 0; i < len(found); i += 2 { // member, score, …
			members = append(members, found[i])
		}
		orphans, err := r.OrphansOf(ctx, r.OrphansScript, name, false, members)
		if err != nil {
			return err
		}
		if len(orphans) > 0 {
			if err := do(orphans); err != nil {
				return err
			}
		}
		if next == 0 {
			return nil
		}
		cursor = next
	}
}

// OrphansOf returns which of members are orphaned, and removes them if remove is set.
func (r *States) OrphansOf(
	ctx context.Context,
	script *redis.Script,
	board scoreboard.BoardID,
	remove bool,
	members []string,
) ([]scoreboard.OrphanedMember, error) {
	if len(members) == 0 {
		return nil, nil
	}
	args := make([]any, 3, 3+len(members))
	args[0], args[1], args[2] = Channel, string(board), "0"
	if remove {
		args[2] = "1"
	}
	for _, m := range members {
		args = append(args, m)
	}
	found, err := script.Run(ctx, r.Redis, r.Keys.Live(board), args...).StringSlice()
	if errors.Is(err, redis.Nil) {
		err = scoreboard.ErrNotLoaded
	}
	if err != nil {
		return nil, Translate(fmt.Errorf("find orphaned members of board %s: %w", board, err))
	}
	width, found, err := widthOf(found, -1)
	if err != nil {
		return nil, fmt.Errorf("find orphaned members of board %s: %w", board, err)
	}
	orphans := make([]scoreboard.OrphanedMember, len(found))
	for i, member := range found {
		orphans[i] = scoreboard.OrphanedMember{
			User:   scoreboard.UserID(member[min(width, len(member)):]),
			Member: member,
		}
	}
	return orphans, nil
}

// States reads and repairs the states and members of boards in one piece, and of partitions.
type States struct {
	*Conn
	states, RepairScript, OrphansScript *redis.Script
	QuietRepair, QuietOrphans           *redis.Script // for a partition: they publish nothing
}

// NewStates reads and repairs by c.
func NewStates(c *Conn) *States {
	return &States{
		Conn:          c,
		states:        redis.NewScript(LuaWidth + LuaCounts + luaStates),
		RepairScript:  redis.NewScript(LuaWidth + LuaPut + LuaCounts + luaRepair),
		OrphansScript: redis.NewScript(LuaWidth + LuaPut + LuaCounts + luaOrphans),
		QuietRepair:   redis.NewScript(LuaWidth + LuaPut + LuaQuiet + LuaCounts + luaRepair),
		QuietOrphans:  redis.NewScript(LuaWidth + LuaPut + LuaQuiet + LuaCounts + luaOrphans),
	}
}

// Read reads states from a board in one piece, or from a partition.
func (r *States) Read(
	ctx context.Context, name scoreboard.BoardID, users []scoreboard.UserID,
) ([]scoreboard.RankedState, error) {
	args := make([]any, len(users))
	for i, u := range users {
		args[i] = string(u)
	}
	found, err := r.states.Run(ctx, r.Redis, r.Keys.Live(name), args...).StringSlice()
	if errors.Is(err, redis.Nil) {
		err = scoreboard.ErrNotLoaded
	}
	if err != nil {
		return nil, Translate(fmt.Errorf("read %d states of board %s: %w", len(users), name, err))
	}
	width, found, err := widthOf(found, 2*len(users))
	if err != nil {
		return nil, fmt.Errorf("read %d states of board %s: %w", len(users), name, err)
	}
	states := make([]scoreboard.RankedState, len(users))
	for i := range states {
		states[i] = readState(found[2*i], found[2*i+1], width)
	}
	return states, nil
}

// widthOf takes the length of the prefix, which comes first, from a reply with want more values;
// -1: with any number of them.
func widthOf(reply []string, want int) (int, []string, error) {
	if len(reply) == 0 || want >= 0 && len(reply) != 1+want {
		return 0, nil, fmt.Errorf("a script replied with %d values, want %d", len(reply), 1+want)
	}
	width, err := strconv.Atoi(reply[0])
	if err != nil || width != keyLength && width != 2*keyLength {
		return 0, nil, fmt.Errorf("a script replied with the length %q of the prefix", reply[0])
	}
	return width, reply[1:], nil
}

// readState parses a state and the key in the sorted set. A malformed state gets a
// revision that matches nothing.
func readState(raw, key string, width int) scoreboard.RankedState {
	s := scoreboard.RankedState{Raw: raw}
	if raw == "" {
		return s
	}
	kept, err := ParseState(raw, width)
	if err != nil {
		return scoreboard.RankedState{Raw: raw, Revision: math.MinInt64}
	}
	s.Key, s.Revision, s.Hidden = kept.Key, kept.Revision, kept.Hidden
	if width > keyLength {
		s.SubKey = parseSubKey(raw)
	}
	s.ReachedAt = reachedAt(kept.Prefix)
	if key != "" {
		n, err := ParseKey(key)
		s.Ranked = err == nil && n == s.Key
	}
	return s
}

// Repair runs a script that replaces a wrong state in a piece, and reports whether it did.
func (r *States) Repair(
	ctx context.Context, script *redis.Script, name scoreboard.BoardID, correct *scoreboard.Change,
	wrong scoreboard.RankedState,
) (bool, error) {
	hidden := "0"
	if correct.Hidden {
		hidden = "1"
	}
	n, err := script.Run(ctx, r.Redis, r.Keys.Live(name), Channel, string(correct.Board),
		AppendMoved(nil, correct), string(correct.User), wrong.Raw,
		strconv.FormatInt(correct.Revision, 10), strconv.FormatInt(correct.Key, 10), prefix(correct),
		strconv.FormatInt(correct.Version, 10), hidden).Int64()
	if err == nil && n < 0 {
		err = scoreboard.ErrNotLoaded
	}
	if err != nil {
		return false, Translate(fmt.Errorf("repair %s on board %s: %w", correct.User, correct.Board, err))
	}
	return n == 1, nil
}

// Users calls do with all users that have a state in a piece, in chunks; a user may come twice.
func (r *States) Users(ctx context.Context, board scoreboard.BoardID, do func([]scoreboard.UserID) error) error {
	var cursor uint64
	for {
		found, next, err := r.Redis.HScan(ctx, r.Keys.Live(board)[2], cursor, "", 1000).Result()
		if err != nil {
			return Translate(fmt.Errorf("list the users of board %s: %w", board, err))
		}
		users := make([]scoreboard.UserID, 0, len(found)/2)
		for i := 0; i < len(found); i += 2 {
			users = append(users, scoreboard.UserID(found[i]))
		}
		if err := do(users); err != nil || next == 0 {
			return err
		}
		cursor = next
	}
}
