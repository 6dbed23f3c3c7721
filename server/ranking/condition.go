package ranking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Lost returns the boards that Redis does not hold, and those that were built on
// another server than the one that answers now: a restart or a failover may have
// lost the latest changes.
func (r *Ranking) Lost(
	ctx context.Context, boards []scoreboard.Board,
) (missing, suspect []scoreboard.Board, err error) {
	server, err := r.server(ctx)
	if err != nil {
		return nil, nil, err
	}
	on, err := r.builtOn(ctx, boards)
	if err != nil {
		return nil, nil, err
	}
	for i, b := range boards {
		switch {
		case on[i] == nil:
			missing = append(missing, b)
		case *on[i] != server:
			suspect = append(suspect, b)
		}
	}
	return missing, suspect, nil
}

// Loaded returns the boards that Redis holds.
func (r *Ranking) Loaded(ctx context.Context, boards []scoreboard.Board) ([]scoreboard.Board, error) {
	on, err := r.builtOn(ctx, boards)
	if err != nil {
		return nil, err
	}
	var loaded []scoreboard.Board
	for i, b := range boards {
		if on[i] != nil {
			loaded = append(loaded, b)
		}
	}
	return loaded, nil
}

// Drop removes a board from Redis, and aborts its rebuild if one is running.
func (r *Ranking) Drop(ctx context.Context, board scoreboard.BoardID) error {
	if err := r.rdb.Unlink(ctx, allKeys(board)...).Err(); err != nil {
		return fmt.Errorf("drop board %s: %w", board, err)
	}
	return nil
}

// boardsPerTrip is how many boards are checked in one round trip.
const boardsPerTrip = 500

// builtOn returns the server that each board was built on; nil for a board that
// Redis does not hold.
func (r *Ranking) builtOn(ctx context.Context, boards []scoreboard.Board) ([]*string, error) {
	on := make([]*string, 0, len(boards))
	for some := range slices.Chunk(boards, boardsPerTrip) {
		answers := make([]*redis.StringCmd, len(some))
		_, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range some {
				answers[i] = p.HGet(ctx, liveKeys(some[i].ID)[0], "server")
			}
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, fmt.Errorf("check %d boards: %w", len(some), err)
		}
		for i, answer := range answers {
			server, err := answer.Result()
			switch {
			case err == nil:
				on = append(on, &server)
			case errors.Is(err, redis.Nil):
				on = append(on, nil)
			default:
				return nil, fmt.Errorf("check board %s: %w", some[i].ID, err)
			}
		}
	}
	return on, nil
}

// server identifies the process that answers and its replication history; empty on
// a stand-in without them.
func (r *Ranking) server(ctx context.Context) (string, error) {
	var ids []string
	for _, section := range []string{"server", "replication"} {
		info, err := r.rdb.Info(ctx, section).Result()
		if err != nil && strings.Contains(err.Error(), "is not supported") {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("read the identity of Redis: %w", err)
		}
		for line := range strings.Lines(info) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if name == "run_id" || name == "master_replid" {
				ids = append(ids, value)
			}
		}
	}
	return strings.Join(ids, "/"), nil
}

// Condition reports the state of a board. It is expensive: Redis measures the size
// of the keys.
func (r *Ranking) Condition(ctx context.Context, board scoreboard.BoardID) (*scoreboard.Condition, error) {
	server, err := r.server(ctx)
	if err != nil {
		return nil, err
	}
	c := &scoreboard.Condition{Board: board, State: scoreboard.StateRebuilding}
	keys := liveKeys(board)
	meta, err := r.rdb.HGetAll(ctx, keys[0]).Result()
	if err != nil {
		return nil, fmt.Errorf("read the condition of board %s: %w", board, err)
	}
	if shadow, err := r.rdb.Exists(ctx, shadowKeys(board)[0]).Result(); err == nil {
		c.Rebuilding = shadow == 1
	}
	if meta["epoch"] == "" {
		return c, nil
	}
	fresh, err := r.rdb.HGetAll(ctx, freshKey).Result()
	if err != nil {
		return nil, fmt.Errorf("read the condition of board %s: %w", board, err)
	}
	c.AsOf, c.Suspect = asOf(fresh), meta["server"] != server
	for to, field := range map[*int64]string{&c.Epoch: "epoch", &c.Version: "version"} {
		if *to, err = strconv.ParseInt(meta[field], 10, 64); err != nil {
			return nil, fmt.Errorf("read the condition of board %s: %s: %w", board, field, err)
		}
	}
	built, err := strconv.ParseInt(meta["built"], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the condition of board %s: built: %w", board, err)
	}
	c.Built = time.UnixMicro(built).UTC()
	if c.Members, err = r.rdb.ZCard(ctx, keys[1]).Result(); err != nil {
		return nil, fmt.Errorf("read the condition of board %s: %w", board, err)
	}
	for _, key := range keys {
		n, err := r.rdb.MemoryUsage(ctx, key).Result()
		if err == nil { // fails on a stand-in, and for the missing set of an empty board
			c.Bytes += n
		}
	}
	c.State = scoreboard.StateHealthy
	if c.AsOf.Before(c.Built) || c.Suspect {
		c.State = scoreboard.StateCatchingUp
	}
	return c, nil
}
