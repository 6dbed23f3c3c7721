package ranking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// markLife is how long a shadow outlives the last sign of who fills it: an
// interrupted rebuild leaves no trace.
const markLife = 15 * time.Second

// Mark opens a shadow of a board under token, which Apply writes from now on
// beside the live one. False: another's rebuild is under way.
func (r *Ranking) Mark(ctx context.Context, board scoreboard.BoardID, token string) (bool, error) {
	server, err := r.server(ctx)
	if err != nil {
		return false, fmt.Errorf("mark a shadow of board %s: %w", board, err)
	}
	n, err := r.mark.Run(ctx, r.rdb, shadowKeys(board), token, markLife.Milliseconds(), server).Int64()
	if err != nil {
		return false, fmt.Errorf("mark a shadow of board %s: %w", board, err)
	}
	return n == 1, nil
}

// Fill puts changes of one board into the shadow that token marked.
func (r *Ranking) Fill(ctx context.Context, board scoreboard.BoardID, token string, changes []scoreboard.Change) error {
	args := make([]any, 2, 2+6*len(changes))
	args[0], args[1] = token, markLife.Milliseconds()
	for i := range changes {
		args = appendChange(args, &changes[i])
	}
	n, err := r.fill.Run(ctx, r.rdb, shadowKeys(board), args...).Int64()
	if err == nil && n < 0 {
		err = errMarkLost
	}
	if err != nil {
		return fmt.Errorf("fill the shadow of board %s: %w", board, err)
	}
	return nil
}

var (
	errMarkLost    = errors.New("the mark of this rebuild is gone")
	errShadowShort = errors.New("the shadow has lost users that were filled in")
)

// Unmark removes the shadow that token marked: an interrupted rebuild cleans
// up. Where it cannot, the shadow expires.
func (r *Ranking) Unmark(ctx context.Context, board scoreboard.BoardID, token string) error {
	if err := r.unmark.Run(ctx, r.rdb, shadowKeys(board), token).Err(); err != nil {
		return fmt.Errorf("remove the shadow of board %s: %w", board, err)
	}
	return nil
}

// Swap puts the shadow in the place of the live board under a new epoch and
// announces it, unless it holds fewer than least users, hidden ones included.
// It returns how many users are ranked.
func (r *Ranking) Swap(ctx context.Context, board *scoreboard.Board, token string, least, epoch int64, updated time.Time) (int64, error) {
	n, err := r.swap.Run(ctx, r.rdb, allKeys(board.ID), token, channel, string(board.ID), epoch, updated.UnixMicro(), string(board.Order), least,
		time.Now().UnixMicro()).Int64()
	switch {
	case err != nil:
	case n == -1:
		err = errMarkLost
	case n < 0:
		err = errShadowShort
	}
	if err != nil {
		return 0, fmt.Errorf("swap in the shadow of board %s: %w", board.ID, err)
	}
	return n, nil
}
