package ranking

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Lost returns those of boards that Redis does not hold, and those that were
// built on another server than the one that answers now: after a restart or a
// failover Redis may have forgotten the last it was told.
func (r *Ranking) Lost(ctx context.Context, boards []scoreboard.Board) (cold, suspect []scoreboard.Board, err error) {
	server, err := r.server(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range boards {
		on, err := r.rdb.HGet(ctx, liveKeys(b.ID)[0], "server").Result()
		switch {
		case err == redis.Nil: //nolint:errorlint // go-redis returns it as it is
			cold = append(cold, b)
		case err != nil:
			return nil, nil, fmt.Errorf("look for board %s: %w", b.ID, err)
		case on != server:
			suspect = append(suspect, b)
		}
	}
	return cold, suspect, nil
}

// server names the process that answers and its line of replication; empty on
// a stand-in that does not say.
func (r *Ranking) server(ctx context.Context) (string, error) {
	var ids []string
	for _, section := range []string{"server", "replication"} {
		info, err := r.rdb.Info(ctx, section).Result()
		if err != nil && strings.Contains(err.Error(), "is not supported") {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("ask Redis who it is: %w", err)
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

// Condition says how a board is. It is not for every request: it asks Redis to
// weigh the keys.
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
		if err == nil { // a stand-in cannot tell, and an empty board has no set
			c.Bytes += n
		}
	}
	c.State = scoreboard.StateHealthy
	if c.AsOf.Before(c.Built) || c.Suspect {
		c.State = scoreboard.StateCatchingUp
	}
	return c, nil
}
