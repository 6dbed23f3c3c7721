package whole

import (
	"context"
	"fmt"
	"strconv"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Status reports the state of a board.
func (r *Boards) Status(ctx context.Context, l piece.Layout) (*scoreboard.RankingStatus, error) {
	board := l.Board
	bucket := r.Keys.Bucket(board)
	trusted, err := r.Trust(ctx, []int{bucket})
	if err != nil {
		return nil, err
	}
	c := &scoreboard.RankingStatus{Board: board, State: scoreboard.StateRebuilding}
	keys := r.Keys.Live(board)
	meta, err := r.Redis.HGetAll(ctx, keys[0]).Result()
	if err != nil {
		return nil, piece.Translate(fmt.Errorf("read the ranking status of board %s: %w", board, err))
	}
	if shadow, err := r.Redis.Exists(ctx, r.Keys.Shadow(board)[0]).Result(); err == nil {
		c.Rebuilding = shadow == 1
	}
	found, err := r.Bases(ctx, []scoreboard.Board{{ID: board, Subscore: piece.ParseOrders(meta["order"]).Subscore}})
	if err != nil {
		return nil, err
	}
	if found[0].Basis == nil {
		return c, nil
	}
	c.Partitions = 1
	fresh, err := r.Redis.HGetAll(ctx, r.Keys.Fresh(bucket)).Result()
	if err != nil {
		return nil, piece.Translate(fmt.Errorf("read the ranking status of board %s: %w", board, err))
	}
	for to, field := range map[*int64]string{&c.Epoch: "epoch", &c.Version: "version"} {
		if *to, err = strconv.ParseInt(meta[field], 10, 64); err != nil {
			return nil, fmt.Errorf("read the ranking status of board %s: %s: %w", board, field, err)
		}
	}
	built, err := strconv.ParseInt(meta["built"], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the ranking status of board %s: built: %w", board, err)
	}
	c.Built = piece.MicroTime(built)
	if c.Members, err = r.Redis.ZCard(ctx, keys[1]).Result(); err != nil {
		return nil, piece.Translate(fmt.Errorf("read the ranking status of board %s: %w", board, err))
	}
	for _, key := range keys {
		n, err := r.Redis.MemoryUsage(ctx, key).Result()
		if err == nil { // fails on a stand-in, and for the missing set of an empty board
			c.Bytes += n
		}
	}
	c.Suspect = trusted[bucket].Doubts(found[0].Basis)
	if c.AsOf, c.State, err = piece.ParseFreshness(fresh).Evaluate(found[0].Basis); err == nil && c.Suspect {
		c.State = scoreboard.StateCatchingUp
	}
	return c, nil
}
