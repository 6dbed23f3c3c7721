package ranking

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// OrphanedMembers calls do with the members of a board's sorted set that belong to
// no user's state, in chunks.
func (r *Ranking) OrphanedMembers(
	ctx context.Context,
	board scoreboard.BoardID,
	do func([]scoreboard.OrphanedMember) error,
) error {
	names, err := r.layouts.pieces(ctx, board)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := r.pieces.orphansIn(ctx, name, do); err != nil {
			return err
		}
	}
	return nil
}

func (r *pieces) orphansIn(
	ctx context.Context, name scoreboard.BoardID, do func([]scoreboard.OrphanedMember) error,
) error {
	var cursor uint64
	for {
		found, next, err := r.rdb.ZScan(ctx, r.keys.live(name)[1], cursor, "", 1000).Result()
		if err != nil {
			return translate(fmt.Errorf("list the members of board %s: %w", name, err))
		}
		members := make([]string, 0, len(found)/2)
		for i := 0; i < len(found); i += 2 { // member, score, …
			members = append(members, found[i])
		}
		orphans, err := r.orphansOf(ctx, r.orphans, name, false, members)
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

// Remove removes a member of the sorted set if it is still orphaned.
func (r *Ranking) Remove(ctx context.Context, board scoreboard.BoardID, s scoreboard.OrphanedMember) (bool, error) {
	return onLayout(ctx, r, board, func(b boards, l layout) (bool, error) { return b.removeMember(ctx, l, s) })
}

func (r *pieces) orphansOf(
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
	args[0], args[1], args[2] = channel, string(board), "0"
	if remove {
		args[2] = "1"
	}
	for _, m := range members {
		args = append(args, m)
	}
	found, err := script.Run(ctx, r.rdb, r.keys.live(board), args...).StringSlice()
	if errors.Is(err, redis.Nil) {
		err = scoreboard.ErrNotLoaded
	}
	if err != nil {
		return nil, translate(fmt.Errorf("find orphaned members of board %s: %w", board, err))
	}
	orphans := make([]scoreboard.OrphanedMember, len(found))
	for i, member := range found {
		orphans[i] = scoreboard.OrphanedMember{
			User:   scoreboard.UserID(member[min(prefixLength, len(member)):]),
			Member: member,
		}
	}
	return orphans, nil
}
