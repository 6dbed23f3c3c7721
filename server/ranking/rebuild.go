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

// shadowScripts are scripts for the shadow of a board, or of a partition of one.
type shadowScripts struct{ mark, fill, fence, unmark *redis.Script }

func newShadowScripts() shadowScripts {
	return shadowScripts{
		mark:   redis.NewScript(luaServer + luaSeal + luaMark),
		fill:   redis.NewScript(luaPut + luaFill),
		fence:  redis.NewScript(luaSeal + luaFence),
		unmark: redis.NewScript(luaUnmark),
	}
}

// Mark creates a shadow of a board under token, to which Apply writes from now on as
// well. False: another rebuild is running.
//
// The shadow is in as many partitions as the board will be from the swap on, also where the
// live board is not.
func (r *Ranking) Mark(ctx context.Context, board *scoreboard.Board, token string) (bool, error) {
	n, err := r.shadows.mark.Run(ctx, r.conn.rdb, r.conn.keys.shadow(board.ID), token, markLife.Milliseconds()).Int64()
	marked := n == 1
	if err == nil && marked {
		if marked, err = r.rebuilds.markLayout(ctx, board, token); err != nil || !marked {
			err = errors.Join(err, r.Unmark(ctx, board.ID, token))
		}
	}
	if err != nil {
		return false, translate(fmt.Errorf("mark a shadow of board %s: %w", board.ID, err))
	}
	return marked, nil
}

// Fill writes changes of one board to the shadow that token marked.
func (r *Ranking) Fill(ctx context.Context, board scoreboard.BoardID, token string, changes []scoreboard.Change) error {
	if p := r.rebuilds.rebuilding(board, token); p != nil {
		if err := r.rebuilds.fillLayout(ctx, p, token, changes); err != nil {
			return translate(fmt.Errorf("fill the shadow of board %s: %w", board, err))
		}
		return nil
	}
	args := make([]any, 2, 2+6*len(changes))
	args[0], args[1] = token, markLife.Milliseconds()
	for i := range changes {
		args = appendChange(args, &changes[i])
	}
	n, err := r.shadows.fill.Run(ctx, r.conn.rdb, r.conn.keys.shadow(board), args...).Int64()
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
	errEpochLow   = errors.New("the epoch is not greater than the live board's")
	errOldApplier = unavailable(
		"a node of an earlier version, which knows no partitions, applied changes to the board; "+
			"upgrade all nodes first",
		errors.New("the partitions lack changes"))
)

// swapError is the error that a swap's negative result means.
func swapError(n int64) error {
	switch {
	case n >= 0:
		return nil
	case n == -1:
		return errMarkLost
	case n == -2:
		return errShadowShort
	case n == -4:
		return errOldApplier
	}
	return errEpochLow
}

func swapped(answer *redis.Cmd) (int64, error) {
	n, err := answer.Int64()
	if err == nil {
		err = swapError(n)
	}
	return n, err
}

// swapArguments are those of swap.lua for a board, or for a partition of it, which must have
// a minimum of users.
func swapArguments(
	board *scoreboard.Board, name scoreboard.BoardID, token string, s *scoreboard.Snapshot, minimum int64,
) []any {
	return []any{
		token, channel, string(name), s.Epoch, s.UpdatedAt.UnixMicro(), string(board.Order), minimum,
		time.Now().UnixMicro(), s.AsOf.UnixMicro(),
	}
}

// Epoch returns the epoch of the live board, 0 if there is none; of one in partitions, also
// those that an interrupted rebuild has left.
func (r *Ranking) Epoch(ctx context.Context, board *scoreboard.Board) (int64, error) {
	keys := []string{r.conn.keys.live(board.ID)[0]}
	if l, divided := layoutOf(board); divided {
		for _, name := range l.parts() {
			keys = append(keys, r.conn.keys.live(name)[0])
		}
	}
	keys = append(keys, r.conn.keys.head(board.ID))
	found := make([]*redis.StringCmd, len(keys))
	_, _ = r.conn.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each command has its own error
		for i, key := range keys {
			found[i] = pipe.HGet(ctx, key, "epoch")
		}
		return nil
	})
	var highest int64
	for _, answer := range found {
		epoch, err := answer.Int64()
		if err != nil && !errors.Is(err, redis.Nil) && !isDivided(err) {
			return 0, translate(fmt.Errorf("read the epoch of board %s: %w", board.ID, err))
		}
		highest = max(highest, epoch)
	}
	return highest, nil
}

// Unmark removes the shadow that token marked, after an interrupted rebuild. If it
// fails, the shadow expires.
func (r *Ranking) Unmark(ctx context.Context, board scoreboard.BoardID, token string) error {
	err := r.shadows.unmark.Run(ctx, r.conn.rdb, r.conn.keys.shadow(board), token).Err()
	if p := r.rebuilds.rebuilding(board, token); p != nil {
		err = errors.Join(err, r.rebuilds.unmarkLayout(ctx, p, token))
		_ = r.rebuilds.removeUnused(ctx, board) // RemoveUnused repeats it
	}
	if err != nil {
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
	var users int64
	var err error
	if p := r.rebuilds.rebuilding(board.ID, token); p != nil {
		users, err = r.rebuilds.swapLayout(ctx, p, board, token, s)
	} else {
		users, err = swapped(r.swap.Run(ctx, r.conn.rdb, r.conn.keys.both(board.ID),
			swapArguments(board, board.ID, token, s, s.Users)...))
	}
	if err != nil {
		return 0, translate(fmt.Errorf("swap in the shadow of board %s: %w", board.ID, err))
	}
	return users, nil
}
