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

// States returns the stored states of users on a board, or scoreboard.ErrNotLoaded.
func (r *Ranking) States(
	ctx context.Context,
	board scoreboard.BoardID,
	users []scoreboard.UserID,
) ([]scoreboard.RankedState, error) {
	return onLayout(ctx, r, board, func() ([]scoreboard.RankedState, error) {
		return r.statesIn(ctx, board, users)
	}, func(l layout) ([]scoreboard.RankedState, error) {
		states := make([]scoreboard.RankedState, len(users))
		mine, index := l.divide(users)
		for of, some := range mine {
			if len(some) == 0 {
				continue
			}
			found, err := r.statesIn(ctx, l.part(of), some)
			if err != nil {
				return nil, err
			}
			for j, i := range index[of] {
				states[i] = found[j]
			}
		}
		return states, nil
	})
}

// statesIn reads states from a board in one piece, or from a partition.
func (r *Ranking) statesIn(
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
	return onLayout(ctx, r, correct.Board, func() (bool, error) {
		return r.repairIn(ctx, r.repair, correct.Board, correct, wrong)
	}, func(l layout) (bool, error) {
		repaired, err := r.repairIn(ctx, r.quiet.repair, l.part(l.of(correct.User)), correct, wrong)
		if err != nil || !repaired {
			return false, err
		}
		return true, r.mergeHead(ctx, l, &merging{applied: true, moved: appendMoved(nil, correct)})
	})
}

func (r *Ranking) repairIn(
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
	names, err := r.pieces(ctx, board)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := r.usersIn(ctx, name, do); err != nil {
			return err
		}
	}
	return nil
}

func (r *Ranking) usersIn(ctx context.Context, board scoreboard.BoardID, do func([]scoreboard.UserID) error) error {
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
