package ranking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// markLife is how long a shadow lives after the last call of its rebuild, so that an
// interrupted rebuild leaves nothing behind.
const markLife = 15 * time.Second

// Mark creates a shadow of a board under token, to which Apply writes from now on as
// well. False: another rebuild is running.
func (r *Ranking) Mark(ctx context.Context, board scoreboard.BoardID, token string) (bool, error) {
	n, err := r.mark.Run(ctx, r.rdb, r.keys.shadow(board), token, markLife.Milliseconds()).Int64()
	if err != nil {
		return false, translate(fmt.Errorf("mark a shadow of board %s: %w", board, err))
	}
	return n == 1, nil
}

// Fill writes changes of one board to the shadow that token marked.
func (r *Ranking) Fill(ctx context.Context, board scoreboard.BoardID, token string, changes []scoreboard.Change) error {
	args := make([]any, 2, 2+6*len(changes))
	args[0], args[1] = token, markLife.Milliseconds()
	for i := range changes {
		args = appendChange(args, &changes[i])
	}
	n, err := r.fill.Run(ctx, r.rdb, r.keys.shadow(board), args...).Int64()
	if err == nil && n < 0 {
		err = errMarkLost
	}
	if err != nil {
		return translate(fmt.Errorf("fill the shadow of board %s: %w", board, err))
	}
	return nil
}

var (
	errMarkLost = unavailable("the rebuild was interrupted; start it again",
		errors.New("the shadow belongs to another rebuild or has expired"))
	errShadowShort = unavailable("the rebuild was interrupted; start it again",
		errors.New("the shadow has lost users"))
	errEpochLow = errors.New("the epoch is not greater than the live board's")
)

// Epoch returns the epoch of the live board, 0 if there is none.
func (r *Ranking) Epoch(ctx context.Context, board scoreboard.BoardID) (int64, error) {
	epoch, err := r.rdb.HGet(ctx, r.keys.live(board)[0], "epoch").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, translate(fmt.Errorf("read the epoch of board %s: %w", board, err))
	}
	return epoch, nil
}

// Unmark removes the shadow that token marked, after an interrupted rebuild. If it
// fails, the shadow expires.
func (r *Ranking) Unmark(ctx context.Context, board scoreboard.BoardID, token string) error {
	if err := r.unmark.Run(ctx, r.rdb, r.keys.shadow(board), token).Err(); err != nil {
		return translate(fmt.Errorf("remove the shadow of board %s: %w", board, err))
	}
	return nil
}

// Swap replaces the live board by the shadow that token marked, under a new epoch,
// and publishes a notice. It fails, and changes nothing, if the shadow has lost
// something since it was marked: a key, or users of the snapshot; or if the epoch is
// not greater than the live board's. It returns the number of ranked users.
func (r *Ranking) Swap(
	ctx context.Context, board *scoreboard.Board, token string, s *scoreboard.Snapshot,
) (int64, error) {
	n, err := r.swap.Run(ctx, r.rdb, r.keys.both(board.ID), token, channel, string(board.ID),
		s.Epoch, s.UpdatedAt.UnixMicro(), string(board.Order), s.Users, time.Now().UnixMicro(),
		s.AsOf.UnixMicro()).Int64()
	switch {
	case err != nil:
	case n == -1:
		err = errMarkLost
	case n == -2:
		err = errShadowShort
	case n < 0:
		err = errEpochLow
	}
	if err != nil {
		return 0, translate(fmt.Errorf("swap in the shadow of board %s: %w", board.ID, err))
	}
	return n, nil
}
