package ranking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Lost returns the boards that Redis does not hold, and those that cannot be trusted:
// they were built on another server than the one that answers now, and a restart or a
// failover may have lost the latest changes; or the store has adopted another history
// since.
func (r *Ranking) Lost(
	ctx context.Context, boards []scoreboard.Board,
) (missing, suspect []scoreboard.Board, err error) {
	server, err := r.server(ctx)
	if err != nil {
		return nil, nil, err
	}
	adopted, err := r.rdb.HGet(ctx, freshKey, "adopted").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, nil, translate(fmt.Errorf("read the ranking's last adoption: %w", err))
	}
	found, err := r.bases(ctx, boards)
	if err != nil {
		return nil, nil, err
	}
	for i, b := range boards {
		switch {
		case found[i] == nil:
			missing = append(missing, b)
		case found[i].server != server || found[i].since < adopted:
			suspect = append(suspect, b)
		}
	}
	return missing, suspect, nil
}

// Loaded returns the boards that Redis holds.
func (r *Ranking) Loaded(ctx context.Context, boards []scoreboard.Board) ([]scoreboard.Board, error) {
	found, err := r.bases(ctx, boards)
	if err != nil {
		return nil, err
	}
	var loaded []scoreboard.Board
	for i, b := range boards {
		if found[i] != nil {
			loaded = append(loaded, b)
		}
	}
	return loaded, nil
}

// Drop removes a board from Redis, and aborts its rebuild if one is running.
func (r *Ranking) Drop(ctx context.Context, board scoreboard.BoardID) error {
	if err := r.rdb.Unlink(ctx, allKeys(board)...).Err(); err != nil {
		return translate(fmt.Errorf("drop board %s: %w", board, err))
	}
	return nil
}

// boardsPerTrip is how many boards are checked in one round trip.
const boardsPerTrip = 500

// bases returns the server and the history that each board was built on; nil for a
// board that Redis does not hold.
func (r *Ranking) bases(ctx context.Context, boards []scoreboard.Board) ([]*basis, error) {
	found := make([]*basis, 0, len(boards))
	for some := range slices.Chunk(boards, boardsPerTrip) {
		answers := make([]*redis.SliceCmd, len(some))
		_, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range some {
				answers[i] = p.HMGet(ctx, liveKeys(some[i].ID)[0], "server", "since")
			}
			return nil
		})
		if err != nil {
			return nil, translate(fmt.Errorf("check %d boards: %w", len(some), err))
		}
		for _, answer := range answers {
			server, loaded := answer.Val()[0].(string)
			if !loaded {
				found = append(found, nil)
				continue
			}
			b := &basis{server: server}
			if since, ok := answer.Val()[1].(string); ok {
				b.since, _ = strconv.ParseInt(since, 10, 64) // 0 if malformed: rebuilt if it matters
			}
			found = append(found, b)
		}
	}
	return found, nil
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
			return "", translate(fmt.Errorf("read the identity of Redis: %w", err))
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

// Status reports the state of a board. It is expensive: Redis measures the size
// of the keys.
func (r *Ranking) Status(ctx context.Context, board scoreboard.BoardID) (*scoreboard.RankingStatus, error) {
	server, err := r.server(ctx)
	if err != nil {
		return nil, err
	}
	c := &scoreboard.RankingStatus{Board: board, State: scoreboard.StateRebuilding}
	keys := liveKeys(board)
	meta, err := r.rdb.HGetAll(ctx, keys[0]).Result()
	if err != nil {
		return nil, translate(fmt.Errorf("read the ranking status of board %s: %w", board, err))
	}
	if shadow, err := r.rdb.Exists(ctx, shadowKeys(board)[0]).Result(); err == nil {
		c.Rebuilding = shadow == 1
	}
	if meta["epoch"] == "" {
		return c, nil
	}
	fresh, err := r.rdb.HGetAll(ctx, freshKey).Result()
	if err != nil {
		return nil, translate(fmt.Errorf("read the ranking status of board %s: %w", board, err))
	}
	c.Suspect = meta["server"] != server
	for to, field := range map[*int64]string{&c.Epoch: "epoch", &c.Version: "version"} {
		if *to, err = strconv.ParseInt(meta[field], 10, 64); err != nil {
			return nil, fmt.Errorf("read the ranking status of board %s: %s: %w", board, field, err)
		}
	}
	built, err := strconv.ParseInt(meta["built"], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the ranking status of board %s: built: %w", board, err)
	}
	c.Built = microTime(built)
	if c.Members, err = r.rdb.ZCard(ctx, keys[1]).Result(); err != nil {
		return nil, translate(fmt.Errorf("read the ranking status of board %s: %w", board, err))
	}
	for _, key := range keys {
		n, err := r.rdb.MemoryUsage(ctx, key).Result()
		if err == nil { // fails on a stand-in, and for the missing set of an empty board
			c.Bytes += n
		}
	}
	b := basis{server: meta["server"], built: c.Built}
	b.since, _ = strconv.ParseInt(meta["since"], 10, 64) // 0 if missing
	b.asOf, _ = strconv.ParseInt(meta["asof"], 10, 64)
	if c.AsOf, c.State, err = parseFreshness(fresh).evaluate(&b); err == nil && c.Suspect {
		c.State = scoreboard.StateCatchingUp
	}
	return c, nil
}
