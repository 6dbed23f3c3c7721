package ranking

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Claim creates a shadow of a board under token, to which Apply writes from now on as
// well. False: another rebuild is running.
//
// The shadow is in as many partitions as the board will be from the swap on, also where the
// live board is not.
func (r *Ranking) Claim(ctx context.Context, board *scoreboard.Board, token string) (bool, error) {
	shadow := r.conn.Keys.Shadow(board.ID)
	n, err := r.shadows.Claim.Run(ctx, r.conn.Redis, shadow, token, piece.ClaimTTL.Milliseconds(),
		piece.OrdersOf(board).String()).Int64()
	claimed := n == 1
	if err == nil && claimed {
		if claimed, err = r.rebuilds.ClaimLayout(ctx, board, token); err != nil || !claimed {
			err = errors.Join(err, r.Release(ctx, board.ID, token))
		}
	}
	if err != nil {
		return false, r.failed(ctx, board.ID, fmt.Errorf("claim a shadow of board %s: %w", board.ID, err))
	}
	return claimed, nil
}

// Fill writes changes of one board to the shadow that token claimed.
func (r *Ranking) Fill(ctx context.Context, board scoreboard.BoardID, token string, changes []scoreboard.Change) error {
	if p := r.rebuilds.Rebuilding(board, token); p != nil {
		if err := r.rebuilds.FillLayout(ctx, p, token, changes); err != nil {
			return piece.Translate(fmt.Errorf("fill the shadow of board %s: %w", board, err))
		}
		return nil
	}
	args := make([]any, 2, 2+6*len(changes))
	args[0], args[1] = token, piece.ClaimTTL.Milliseconds()
	for i := range changes {
		args = piece.AppendChange(args, &changes[i])
	}
	n, err := r.shadows.Fill.Run(ctx, r.conn.Redis, r.conn.Keys.Shadow(board), args...).Int64()
	if err == nil && n < 0 {
		err = piece.ErrClaimLost
	}
	if err != nil {
		return piece.Translate(fmt.Errorf("fill the shadow of board %s: %w", board, err))
	}
	return nil
}

// Epoch returns the epoch of the live board, 0 if there is none; of one in partitions, also
// those that an interrupted rebuild has left.
func (r *Ranking) Epoch(ctx context.Context, board *scoreboard.Board) (int64, error) {
	keys := []string{r.conn.Keys.Live(board.ID)[0]}
	if l, divided := piece.LayoutOf(board); divided {
		for _, name := range l.Parts() {
			keys = append(keys, r.conn.Keys.Live(name)[0])
		}
	}
	keys = append(keys, r.conn.Keys.Top(board.ID))
	found := make([]*redis.StringCmd, len(keys))
	_, _ = r.conn.Redis.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each command has its own error
		for i, key := range keys {
			found[i] = pipe.HGet(ctx, key, "epoch")
		}
		return nil
	})
	var highest int64
	for _, answer := range found {
		epoch, err := answer.Int64()
		malformed := new(strconv.NumError) // the board is not loaded then
		if err != nil && !errors.Is(err, redis.Nil) && !piece.IsDivided(err) && !errors.As(err, &malformed) {
			return 0, piece.Translate(fmt.Errorf("read the epoch of board %s: %w", board.ID, err))
		}
		highest = max(highest, epoch)
	}
	return highest, nil
}

// Release removes the shadow that token claimed, after an interrupted rebuild. If it
// fails, the shadow expires.
func (r *Ranking) Release(ctx context.Context, board scoreboard.BoardID, token string) error {
	err := r.shadows.Release.Run(ctx, r.conn.Redis, r.conn.Keys.Shadow(board), token).Err()
	if p := r.rebuilds.Rebuilding(board, token); p != nil {
		err = errors.Join(err, r.rebuilds.ReleaseLayout(ctx, p, token))
		_ = r.rebuilds.RemoveUnusedOf(ctx, board) // RemoveUnused repeats it
	}
	if err != nil {
		return piece.Translate(fmt.Errorf("remove the shadow of board %s: %w", board, err))
	}
	return nil
}

// Swap replaces the live board by the shadow that token claimed, under a new epoch,
// and publishes a notice. It fails, and changes nothing, if the shadow has lost
// something since it was claimed: a key, or users of the snapshot; or if the epoch is
// not greater than the live board's. It returns the number of ranked users.
func (r *Ranking) Swap(
	ctx context.Context, board *scoreboard.Board, token string, s *scoreboard.Snapshot,
) (int64, error) {
	var users int64
	var err error
	if p := r.rebuilds.Rebuilding(board.ID, token); p != nil {
		users, err = r.rebuilds.SwapLayout(ctx, p, board, token, s)
	} else {
		users, err = piece.Swapped(r.swap.Run(ctx, r.conn.Redis, r.conn.Keys.Both(board.ID),
			piece.SwapArguments(board, board.ID, token, s, s.Users)...))
	}
	if err != nil {
		return 0, r.failed(ctx, board.ID, fmt.Errorf("swap in the shadow of board %s: %w", board.ID, err))
	}
	return users, nil
}
