package partitions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Shadows expire by themselves, but partitions that were swapped in do not. A rebuild that
// is interrupted leaves some that never were the live board's, or those of the former
// layout. So each layout is recorded beside the board before a key of it is created, with
// the token of the rebuild, and the record is cleared after its partitions are removed.

// recordLayouts records the layouts that a rebuild turns from and to.
func (r *Rebuilds) recordLayouts(ctx context.Context, token string, layouts ...piece.Layout) error {
	values := make([]any, 0, 2*len(layouts))
	for _, l := range layouts {
		if l.Count > 1 {
			values = append(values, l.Count, token)
		}
	}
	return r.Redis.HSet(ctx, r.Keys.Layouts(layouts[0].Board), values...).Err()
}

// Recorded returns the layouts that keys of a board may be left of, with the tokens that they
// were recorded with.
func (r *Rebuilds) Recorded(ctx context.Context, board scoreboard.BoardID) (map[piece.Layout]string, error) {
	found, err := r.Redis.HGetAll(ctx, r.Keys.Layouts(board)).Result()
	if err != nil {
		return nil, err
	}
	return parseLayouts(board, found), nil
}

func parseLayouts(board scoreboard.BoardID, found map[string]string) map[piece.Layout]string {
	tokens := make(map[piece.Layout]string, len(found))
	for text, token := range found {
		if count, err := strconv.Atoi(text); err == nil && count > 1 && count <= scoreboard.MaxPartitions {
			tokens[piece.Layout{Board: board, Count: count}] = token
		}
	}
	return tokens
}

// RemoveUnused removes partitions of boards that an interrupted rebuild has left. Those of a
// board that is being rebuilt stay until it is not.
func (r *Rebuilds) RemoveUnused(ctx context.Context, boards []scoreboard.Board) error {
	for some := range slices.Chunk(boards, piece.BoardsPerTrip) {
		answers := make([]*redis.MapStringStringCmd, len(some))
		_, _ = r.Redis.Pipelined(ctx, func(p redis.Pipeliner) error { // each answer has its own error
			for i := range some {
				answers[i] = p.HGetAll(ctx, r.Keys.Layouts(some[i].ID))
			}
			return nil
		})
		for i := range some {
			found, err := answers[i].Result()
			if err == nil {
				err = r.removeLayouts(ctx, some[i].ID, parseLayouts(some[i].ID, found))
			}
			if err != nil {
				return piece.Translate(fmt.Errorf("remove unused partitions of board %s: %w", some[i].ID, err))
			}
		}
	}
	return nil
}

// RemoveUnusedOf is RemoveUnused for one board, after a rebuild of it.
func (r *Rebuilds) RemoveUnusedOf(ctx context.Context, board scoreboard.BoardID) error {
	found, err := r.Recorded(ctx, board)
	if err == nil {
		err = r.removeLayouts(ctx, board, found)
	}
	if err != nil {
		return fmt.Errorf("remove unused partitions of board %s: %w", board, err)
	}
	return nil
}

func (r *Rebuilds) removeLayouts(ctx context.Context, board scoreboard.BoardID, found map[piece.Layout]string) error {
	if len(found) == 0 {
		return nil
	}
	now, divided, err := r.layouts.Learn(ctx, board)
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
func (r *Rebuilds) removeLayout(ctx context.Context, l piece.Layout, token string) error {
	epochs := make(map[scoreboard.BoardID]*redis.StringCmd, l.Count)
	_, err := r.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, name := range l.Parts() {
			epochs[name] = p.HGet(ctx, r.Keys.Live(name)[0], "epoch")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	rebuilding, err := r.Redis.Exists(ctx, r.Keys.Shadow(l.Board)[0]).Result()
	if err != nil || rebuilding == 1 {
		return err
	}
	now, divided, err := r.layouts.Learn(ctx, l.Board)
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
	if err := r.Each(ctx, left, func(run piece.Runner, name scoreboard.BoardID) *redis.Cmd {
		return run(r.DiscardPart, r.Keys.Live(name), epochs[name].Val())
	}, func(scoreboard.BoardID, int64) error { return nil }); err != nil {
		return err
	}
	return r.ForgetLayout.Run(ctx, r.Redis, []string{r.Keys.Layouts(l.Board)}, l.Count, token).Err()
}
