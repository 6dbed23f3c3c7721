package ranking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Lost returns the boards that Redis does not hold, and those that cannot be trusted:
// they were built on another server than the one that holds them now, and a restart or
// a failover may have lost the latest changes; or the store has adopted another history
// since. In a cluster an error may concern some boards only, which are then in neither
// list: unknown counts them.
func (r *Ranking) Lost(
	ctx context.Context, boards []scoreboard.Board,
) (missing, suspect []scoreboard.Board, unknown int, err error) {
	trusted, err := r.conn.trust(ctx, r.conn.keys.of(boards))
	found, basesErr := r.bases(ctx, boards)
	if err == nil {
		err = basesErr
	}
	for i, b := range boards {
		if _, divided := layoutOf(&b); divided || isDivided(found[i].err) {
			condition, oneErr := r.partitions.conditionOf(ctx, &b, trusted)
			if oneErr != nil && err == nil {
				err = oneErr
			}
			switch condition {
			case conditionHealthy:
			case conditionMissing:
				missing = append(missing, b)
			case conditionSuspect:
				suspect = append(suspect, b)
			case conditionUnknown:
				unknown++
			}
			continue
		}
		holder := trusted[r.conn.keys.bucket(b.ID)]
		switch {
		case holder == nil || found[i].err != nil:
			unknown++
		case found[i].basis == nil:
			missing = append(missing, b)
		case found[i].server != holder.server || found[i].since < holder.adopted:
			suspect = append(suspect, b)
		}
	}
	return missing, suspect, unknown, err
}

// Loaded returns the boards that Redis holds, or holds partitions of.
func (r *Ranking) Loaded(ctx context.Context, boards []scoreboard.Board) ([]scoreboard.Board, error) {
	var loaded []scoreboard.Board
	for some := range slices.Chunk(boards, boardsPerTrip) {
		answers := make([]*redis.IntCmd, len(some))
		_, err := r.conn.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range some {
				id := some[i].ID
				answers[i] = p.Exists(ctx, r.conn.keys.live(id)[0], r.conn.keys.head(id), r.conn.keys.layouts(id))
			}
			return nil
		})
		if err != nil {
			return nil, translate(fmt.Errorf("check %d boards: %w", len(some), err))
		}
		for i := range some {
			isLoaded := answers[i].Val() > 0
			if l, divided := layoutOf(&some[i]); divided && !isLoaded {
				if isLoaded, err = r.partitions.isLoaded(ctx, l); err != nil {
					return nil, err
				}
			}
			if isLoaded {
				loaded = append(loaded, some[i])
			}
		}
	}
	return loaded, nil
}

// Drop removes a board from Redis, and aborts its rebuild if one is running.
func (r *Ranking) Drop(ctx context.Context, board *scoreboard.Board) error {
	if err := r.drop(ctx, board); err != nil {
		return translate(fmt.Errorf("drop board %s: %w", board.ID, err))
	}
	return nil
}

// drop removes the partitions before what says that there are any, so that an interrupted
// call is repeated.
func (r *Ranking) drop(ctx context.Context, board *scoreboard.Board) error {
	now, divided, err := r.layouts.learn(ctx, board.ID)
	if err != nil {
		return err
	}
	recorded, err := r.rebuilds.recorded(ctx, board.ID)
	if err != nil {
		return err
	}
	layouts := maps.Clone(recorded)
	if want, wantsParts := layoutOf(board); wantsParts {
		layouts[want] = ""
	}
	if divided {
		layouts[now] = ""
	}
	if err := r.conn.rdb.Unlink(ctx, r.conn.keys.shadow(board.ID)...).Err(); err != nil {
		return err
	}
	for l := range layouts {
		if err := r.rebuilds.unlinkParts(ctx, l); err != nil {
			return err
		}
	}
	r.layouts.counts.Delete(board.ID)
	live := append(r.conn.keys.live(board.ID), r.conn.keys.head(board.ID))
	if err := r.conn.rdb.Unlink(ctx, live...).Err(); err != nil {
		return err
	}
	for l, token := range recorded {
		keys := []string{r.conn.keys.layouts(l.board)}
		if err := r.rebuilds.forgetLayout.Run(ctx, r.conn.rdb, keys, l.count, token).Err(); err != nil {
			return err
		}
	}
	return nil
}

// boardsPerTrip is how many boards are checked in one round trip.
const boardsPerTrip = 500

// foundBasis is the basis of a board; nil for a board that Redis does not hold.
type foundBasis struct {
	*basis
	err error // the board could not be read
}

// bases returns the server and the history that each board was built on, and the first
// error.
func (r *Ranking) bases(ctx context.Context, boards []scoreboard.Board) (found []foundBasis, err error) {
	found = make([]foundBasis, 0, len(boards))
	for some := range slices.Chunk(boards, boardsPerTrip) {
		answers := make([]*redis.SliceCmd, len(some))
		_, _ = r.conn.rdb.Pipelined(ctx, func(p redis.Pipeliner) error { // each answer has its own error
			for i := range some {
				answers[i] = p.HMGet(ctx, r.conn.keys.live(some[i].ID)[0], "server", "since")
			}
			return nil
		})
		for _, answer := range answers {
			if answer.Err() != nil && !isDivided(answer.Err()) && err == nil {
				err = translate(fmt.Errorf("check %d boards: %w", len(some), answer.Err()))
			}
			found = append(found, basisOf(answer))
		}
	}
	return found, err
}

func basisOf(answer *redis.SliceCmd) foundBasis {
	if answer.Err() != nil || len(answer.Val()) < 2 {
		return foundBasis{err: cmp.Or(answer.Err(), errNoAnswer)}
	}
	server, loaded := answer.Val()[0].(string)
	if !loaded {
		return foundBasis{}
	}
	b := &basis{server: server}
	if since, ok := answer.Val()[1].(string); ok {
		b.since, _ = strconv.ParseInt(since, 10, 64) // 0 if malformed: rebuilt if it matters
	}
	return foundBasis{basis: b}
}

var errNoAnswer = errors.New("no answer from Redis")

// holder is the server that holds a bucket, and when the store's history was adopted.
type holder struct {
	server  string // its process and its replication history; empty on a stand-in
	adopted int64
}

// trust returns the holders of buckets, without those that did not answer, and the
// first error.
func (r *conn) trust(ctx context.Context, buckets []int) (map[int]*holder, error) {
	answers := make([]*redis.Cmd, len(buckets))
	err := r.pipelined(ctx, func(run func(*redis.Script, []string, ...any) *redis.Cmd) {
		for i, bucket := range buckets {
			answers[i] = run(r.trusted, []string{r.keys.fresh(bucket)})
		}
	})
	if err != nil {
		err = translate(fmt.Errorf("read the identity of Redis: %w", err))
	}
	found := make(map[int]*holder, len(buckets))
	for i, bucket := range buckets {
		if text, answerErr := answers[i].StringSlice(); answerErr == nil && len(text) == 2 {
			adopted, _ := strconv.ParseInt(text[1], 10, 64) // it was stored by Distrust
			found[bucket] = &holder{text[0], adopted}
		}
	}
	return found, err
}

// Status reports the state of a board. It is expensive: Redis measures the size
// of the keys.
func (r *Ranking) Status(ctx context.Context, board scoreboard.BoardID) (*scoreboard.RankingStatus, error) {
	l, divided, err := r.layouts.learn(ctx, board)
	switch {
	case err != nil:
		return nil, err
	case divided:
		return r.partitions.readStatus(ctx, l)
	}
	return r.whole.readStatus(ctx, layout{board, 1})
}

func (r *whole) readStatus(ctx context.Context, l layout) (*scoreboard.RankingStatus, error) {
	board := l.board
	bucket := r.keys.bucket(board)
	trusted, err := r.trust(ctx, []int{bucket})
	if err != nil {
		return nil, err
	}
	c := &scoreboard.RankingStatus{Board: board, State: scoreboard.StateRebuilding}
	keys := r.keys.live(board)
	meta, err := r.rdb.HGetAll(ctx, keys[0]).Result()
	if err != nil {
		return nil, translate(fmt.Errorf("read the ranking status of board %s: %w", board, err))
	}
	if shadow, err := r.rdb.Exists(ctx, r.keys.shadow(board)[0]).Result(); err == nil {
		c.Rebuilding = shadow == 1
	}
	if meta["epoch"] == "" {
		return c, nil
	}
	c.Partitions = 1
	fresh, err := r.rdb.HGetAll(ctx, r.keys.fresh(bucket)).Result()
	if err != nil {
		return nil, translate(fmt.Errorf("read the ranking status of board %s: %w", board, err))
	}
	c.Suspect = meta["server"] != trusted[bucket].server
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
