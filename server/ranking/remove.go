package ranking

import (
	"context"
	"fmt"
	"maps"

	"github.com/scoreboard/scoreboard/server/ranking/partitions"
	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// remover removes boards: those that nobody wants, and those that are broken.
type remover struct {
	*piece.Conn
	layouts    *partitions.Layouts
	rebuilds   *partitions.Rebuilds
	onSetAside func(scoreboard.BoardID, error)
}

// Drop removes a board from Redis, and aborts its rebuild if one is running.
func (r *remover) Drop(ctx context.Context, board *scoreboard.Board) error {
	if err := r.drop(ctx, board); err != nil {
		return piece.Translate(fmt.Errorf("drop board %s: %w", board.ID, err))
	}
	return nil
}

// drop removes the partitions before what says that there are any, so that an interrupted
// call is repeated.
func (r *remover) drop(ctx context.Context, board *scoreboard.Board) error {
	now, divided, err := r.layouts.Learn(ctx, board.ID)
	if err != nil && !piece.IsBroken(err) {
		return err
	}
	recorded, err := r.rebuilds.Recorded(ctx, board.ID)
	if piece.IsBroken(err) {
		err = r.Redis.Unlink(ctx, r.Keys.Layouts(board.ID)).Err()
	}
	if err != nil {
		return err
	}
	layouts := make(map[piece.Layout]string)
	maps.Copy(layouts, recorded)
	if want, wantsParts := piece.LayoutOf(board); wantsParts {
		layouts[want] = ""
	}
	if divided {
		layouts[now] = ""
	}
	if err := r.Redis.Unlink(ctx, r.Keys.Shadow(board.ID)...).Err(); err != nil {
		return err
	}
	for l := range layouts {
		if err := r.rebuilds.UnlinkParts(ctx, l); err != nil {
			return err
		}
	}
	r.layouts.Counts.Delete(board.ID)
	live := append(r.Keys.Live(board.ID), r.Keys.Top(board.ID))
	if err := r.Redis.Unlink(ctx, live...).Err(); err != nil {
		return err
	}
	for l, token := range recorded {
		keys := []string{r.Keys.Layouts(l.Board)}
		if err := r.rebuilds.ForgetLayout.Run(ctx, r.Redis, keys, l.Count, token).Err(); err != nil {
			return err
		}
	}
	return nil
}
