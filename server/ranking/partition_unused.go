package ranking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Shadows expire by themselves, but partitions that were swapped in do not. A rebuild that
// is interrupted leaves some that never were the live board's, or those of the former
// layout. So each layout is recorded beside the board before a key of it is created, with
// the token of the rebuild, and the record is cleared after its partitions are removed.

// recordLayouts records the layouts that a rebuild turns from and to.
func (r *rebuilds) recordLayouts(ctx context.Context, token string, layouts ...layout) error {
	values := make([]any, 0, 2*len(layouts))
	for _, l := range layouts {
		if l.count > 1 {
			values = append(values, l.count, token)
		}
	}
	return r.rdb.HSet(ctx, r.keys.layouts(layouts[0].board), values...).Err()
}

// recorded returns the layouts that keys of a board may be left of, with the tokens that they
// were recorded with.
func (r *rebuilds) recorded(ctx context.Context, board scoreboard.BoardID) (map[layout]string, error) {
	found, err := r.rdb.HGetAll(ctx, r.keys.layouts(board)).Result()
	if err != nil {
		return nil, err
	}
	return parseLayouts(board, found), nil
}

func parseLayouts(board scoreboard.BoardID, found map[string]string) map[layout]string {
	tokens := make(map[layout]string, len(found))
	for text, token := range found {
		if count, err := strconv.Atoi(text); err == nil && count > 1 && count <= scoreboard.MaxPartitions {
			tokens[layout{board, count}] = token
		}
	}
	return tokens
}

// RemoveUnused removes partitions of boards that an interrupted rebuild has left. Those of a
// board that is being rebuilt stay until it is not.
func (r *rebuilds) RemoveUnused(ctx context.Context, boards []scoreboard.Board) error {
	for some := range slices.Chunk(boards, boardsPerTrip) {
		answers := make([]*redis.MapStringStringCmd, len(some))
		_, _ = r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error { // each answer has its own error
			for i := range some {
				answers[i] = p.HGetAll(ctx, r.keys.layouts(some[i].ID))
			}
			return nil
		})
		for i := range some {
			found, err := answers[i].Result()
			if err == nil {
				err = r.removeLayouts(ctx, some[i].ID, parseLayouts(some[i].ID, found))
			}
			if err != nil {
				return translate(fmt.Errorf("remove unused partitions of board %s: %w", some[i].ID, err))
			}
		}
	}
	return nil
}

// removeUnused is RemoveUnused for one board, after a rebuild of it.
func (r *rebuilds) removeUnused(ctx context.Context, board scoreboard.BoardID) error {
	found, err := r.recorded(ctx, board)
	if err == nil {
		err = r.removeLayouts(ctx, board, found)
	}
	if err != nil {
		return fmt.Errorf("remove unused partitions of board %s: %w", board, err)
	}
	return nil
}

func (r *rebuilds) removeLayouts(ctx context.Context, board scoreboard.BoardID, found map[layout]string) error {
	if len(found) == 0 {
		return nil
	}
	now, divided, err := r.layouts.learn(ctx, board)
	if err != nil {
		return err
	}
	for l, token := range found {
		if divided && l == now {
			continue
		}
		if err := r.removeLayout(ctx, l, token); err != nil {
			return err
		}
	}
	return nil
}

// removeLayout removes the partitions of a layout unless it is the live board's, or a rebuild
// is running. The order matters, because another process may rebuild the board meanwhile:
// partitions that were swapped in before the first look, by a rebuild that has ended at the
// second one, are live at the third one or never. Partitions that are swapped in later have
// another epoch.
func (r *rebuilds) removeLayout(ctx context.Context, l layout, token string) error {
	epochs := make(map[scoreboard.BoardID]*redis.StringCmd, l.count)
	_, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, name := range l.parts() {
			epochs[name] = p.HGet(ctx, r.keys.live(name)[0], "epoch")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	rebuilding, err := r.rdb.Exists(ctx, r.keys.shadow(l.board)[0]).Result()
	if err != nil || rebuilding == 1 {
		return err
	}
	now, divided, err := r.layouts.learn(ctx, l.board)
	if err != nil || divided && now == l {
		return err
	}
	var left []scoreboard.BoardID
	for name, epoch := range epochs {
		switch {
		case epoch.Err() == nil:
			left = append(left, name)
		case !errors.Is(epoch.Err(), redis.Nil):
			return epoch.Err()
		}
	}
	if err := r.each(ctx, left, func(run runner, name scoreboard.BoardID) *redis.Cmd {
		return run(r.discardPart, r.keys.live(name), epochs[name].Val())
	}, func(scoreboard.BoardID, int64) error { return nil }); err != nil {
		return err
	}
	return r.forgetLayout.Run(ctx, r.rdb, []string{r.keys.layouts(l.board)}, l.count, token).Err()
}
