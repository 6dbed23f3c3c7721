package ranking

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// pieces reads and repairs the states and members of boards in one piece, and of partitions.
type pieces struct {
	*conn
	states, repair, orphans   *redis.Script
	quietRepair, quietOrphans *redis.Script // for a partition: they publish nothing
}

func newPieces(c *conn) *pieces {
	return &pieces{
		conn:         c,
		states:       redis.NewScript(luaStates),
		repair:       redis.NewScript(luaPut + luaRepair),
		orphans:      redis.NewScript(luaPut + luaOrphans),
		quietRepair:  redis.NewScript(luaPut + luaQuiet + luaRepair),
		quietOrphans: redis.NewScript(luaPut + luaQuiet + luaOrphans),
	}
}

// States returns the stored states of users on a board, or scoreboard.ErrNotLoaded.
func (r *Ranking) States(
	ctx context.Context,
	board scoreboard.BoardID,
	users []scoreboard.UserID,
) ([]scoreboard.RankedState, error) {
	return onLayout(ctx, r, board, func(b boards, l layout) ([]scoreboard.RankedState, error) {
		return b.readStates(ctx, l, users)
	})
}

// statesIn reads states from a board in one piece, or from a partition.
func (r *pieces) statesIn(
	ctx context.Context, name scoreboard.BoardID, users []scoreboard.UserID,
) ([]scoreboard.RankedState, error) {
	args := make([]any, len(users))
	for i, u := range users {
		args[i] = string(u)
	}
	found, err := r.states.Run(ctx, r.rdb, r.keys.live(name), args...).StringSlice()
	if errors.Is(err, redis.Nil) {
		err = scoreboard.ErrNotLoaded
	}
	if err != nil {
		return nil, translate(fmt.Errorf("read %d states of board %s: %w", len(users), name, err))
	}
	states := make([]scoreboard.RankedState, len(users))
	for i := range states {
		states[i] = readState(found[2*i], found[2*i+1])
	}
	return states, nil
}

// readState parses a state and the key in the sorted set. A malformed state gets a
// revision that matches nothing.
func readState(raw, key string) scoreboard.RankedState {
	s := scoreboard.RankedState{Raw: raw}
	if raw == "" {
		return s
	}
	kept, err := parseState(raw)
	if err != nil {
		return scoreboard.RankedState{Raw: raw, Revision: math.MinInt64}
	}
	s.Key, s.Revision, s.Hidden, s.ReachedAt = kept.key, kept.revision, kept.hidden, reachedAt(raw)
	if key != "" {
		n, err := parseKey(key)
		s.Ranked = err == nil && n == s.Key
	}
	return s
}

// Repair replaces a wrong state by the store's, regardless of revisions, unless it
// has changed since it was read; a revision of 0 removes the user. It reports
// whether it did.
func (r *Ranking) Repair(
	ctx context.Context, correct *scoreboard.Change, wrong scoreboard.RankedState,
) (bool, error) {
	return onLayout(ctx, r, correct.Board, func(b boards, l layout) (bool, error) {
		return b.repairState(ctx, l, correct, wrong)
	})
}

func (r *pieces) repairIn(
	ctx context.Context, script *redis.Script, name scoreboard.BoardID, correct *scoreboard.Change,
	wrong scoreboard.RankedState,
) (bool, error) {
	hidden := "0"
	if correct.Hidden {
		hidden = "1"
	}
	n, err := script.Run(ctx, r.rdb, r.keys.live(name), channel, string(correct.Board),
		appendMoved(nil, correct), string(correct.User), wrong.Raw,
		strconv.FormatInt(correct.Revision, 10), strconv.FormatInt(correct.Key, 10), prefix(correct.ReachedAt),
		strconv.FormatInt(correct.Version, 10), hidden).Int64()
	if err == nil && n < 0 {
		err = scoreboard.ErrNotLoaded
	}
	if err != nil {
		return false, translate(fmt.Errorf("repair %s on board %s: %w", correct.User, correct.Board, err))
	}
	return n == 1, nil
}

// Users calls do with all users that have a state on a board, in chunks; a user may
// come twice.
func (r *Ranking) Users(ctx context.Context, board scoreboard.BoardID, do func([]scoreboard.UserID) error) error {
	names, err := r.layouts.pieces(ctx, board)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := r.pieces.usersIn(ctx, name, do); err != nil {
			return err
		}
	}
	return nil
}

func (r *pieces) usersIn(ctx context.Context, board scoreboard.BoardID, do func([]scoreboard.UserID) error) error {
	var cursor uint64
	for {
		found, next, err := r.rdb.HScan(ctx, r.keys.live(board)[2], cursor, "", 1000).Result()
		if err != nil {
			return translate(fmt.Errorf("list the users of board %s: %w", board, err))
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
