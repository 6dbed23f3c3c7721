package ranking

import (
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
	trusted, err := r.trust(ctx, r.keys.of(boards))
	found, basesErr := r.bases(ctx, boards)
	if err == nil {
		err = basesErr
	}
	for i, b := range boards {
		if _, divided := layoutOf(&b); divided || isDivided(found[i].err) {
			condition, oneErr := r.conditionOf(ctx, &b, trusted)
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
		holder := trusted[r.keys.bucket(b.ID)]
		switch {
		case found[i].err == nil && found[i].basis == nil, isBroken(found[i].err):
			missing = append(missing, b)
		case holder == nil || found[i].err != nil:
			unknown++
		case holder.doubts(found[i].basis):
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
		_, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range some {
				id := some[i].ID
				answers[i] = p.Exists(ctx, r.keys.live(id)[0], r.keys.head(id), r.keys.layouts(id))
			}
			return nil
		})
		if err != nil {
			return nil, translate(fmt.Errorf("check %d boards: %w", len(some), err))
		}
		for i := range some {
			isLoaded := answers[i].Val() > 0
			if l, divided := layoutOf(&some[i]); divided && !isLoaded {
				if isLoaded, err = r.isLoaded(ctx, l); err != nil {
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
	now, divided, err := r.learn(ctx, board.ID)
	if err != nil && !isBroken(err) {
		return err
	}
	recorded, err := r.recorded(ctx, board.ID)
	if isBroken(err) {
		err = r.rdb.Unlink(ctx, r.keys.layouts(board.ID)).Err()
	}
	if err != nil {
		return err
	}
	layouts := make(map[layout]string)
	maps.Copy(layouts, recorded)
	if want, wantsParts := layoutOf(board); wantsParts {
		layouts[want] = ""
	}
	if divided {
		layouts[now] = ""
	}
	if err := r.rdb.Unlink(ctx, r.keys.shadow(board.ID)...).Err(); err != nil {
		return err
	}
	for l := range layouts {
		if err := r.unlinkParts(ctx, l); err != nil {
			return err
		}
	}
	r.layouts.Delete(board.ID)
	if err := r.rdb.Unlink(ctx, append(r.keys.live(board.ID), r.keys.head(board.ID))...).Err(); err != nil {
		return err
	}
	for l, token := range recorded {
		if err := r.forgetLayout.Run(ctx, r.rdb, []string{r.keys.layouts(l.board)}, l.count, token).Err(); err != nil {
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

// bases returns what each board was built on, and the first error.
func (r *Ranking) bases(ctx context.Context, boards []scoreboard.Board) (found []foundBasis, err error) {
	found = make([]foundBasis, 0, len(boards))
	for some := range slices.Chunk(boards, boardsPerTrip) {
		answers := make([]*redis.Cmd, len(some))
		// Each answer has its own error.
		_ = r.pipelined(ctx, func(run func(*redis.Script, []string, ...any) *redis.Cmd) {
			for i := range some {
				answers[i] = run(r.basis, r.keys.live(some[i].ID))
			}
		})
		for _, answer := range answers {
			one := basisOf(answer)
			if one.err != nil && !isBroken(one.err) && err == nil {
				err = translate(fmt.Errorf("check %d boards: %w", len(some), one.err))
			}
			found = append(found, one)
		}
	}
	return found, err
}

func basisOf(answer *redis.Cmd) foundBasis {
	values, err := answer.Slice()
	if errors.Is(err, redis.Nil) {
		return foundBasis{}
	}
	if err != nil {
		return foundBasis{err: err}
	}
	reply, err := newReply(values, 5)
	if err != nil {
		return foundBasis{err: err}
	}
	b := reply.basis()
	return foundBasis{&b, reply.err}
}

// holder is the server that holds a bucket, when the store's history was adopted, and before
// when no board may have been marked.
type holder struct {
	server           string // its process and its replication history; empty on a stand-in
	adopted, doubted int64
}

// doubts reports whether a board must be rebuilt before it can be trusted.
func (h *holder) doubts(b *basis) bool {
	return h != nil && (b.server != h.server || b.since < h.adopted || b.marked < h.doubted)
}

// trust returns the holders of buckets, without those that did not answer, and the
// first error.
func (r *Ranking) trust(ctx context.Context, buckets []int) (map[int]*holder, error) {
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
		if text, answerErr := answers[i].StringSlice(); answerErr == nil && len(text) == 3 {
			adopted, _ := strconv.ParseInt(text[1], 10, 64) // it was stored by Distrust
			doubted, _ := strconv.ParseInt(text[2], 10, 64) // and this by heartbeats.lua
			found[bucket] = &holder{text[0], adopted, doubted}
		}
	}
	return found, err
}

// Status reports the state of a board. It is expensive: Redis measures the size
// of the keys.
func (r *Ranking) Status(ctx context.Context, board scoreboard.BoardID) (*scoreboard.RankingStatus, error) {
	l, divided, err := r.learn(ctx, board)
	switch {
	case err != nil:
		return nil, err
	case divided:
		return r.partitionedStatus(ctx, l)
	}
	return r.wholeStatus(ctx, board)
}

func (r *Ranking) wholeStatus(ctx context.Context, board scoreboard.BoardID) (*scoreboard.RankingStatus, error) {
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
	found, err := r.bases(ctx, []scoreboard.Board{{ID: board}})
	if err != nil {
		return nil, err
	}
	if found[0].basis == nil {
		return c, nil
	}
	c.Partitions = 1
	fresh, err := r.rdb.HGetAll(ctx, r.keys.fresh(bucket)).Result()
	if err != nil {
		return nil, translate(fmt.Errorf("read the ranking status of board %s: %w", board, err))
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
	c.Suspect = trusted[bucket].doubts(found[0].basis)
	if c.AsOf, c.State, err = parseFreshness(fresh).evaluate(found[0].basis); err == nil && c.Suspect {
		c.State = scoreboard.StateCatchingUp
	}
	return c, nil
}
