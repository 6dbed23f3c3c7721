package ranking

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Top returns the head of a board, or ErrCold.
func (r *Ranking) Top(ctx context.Context, board scoreboard.BoardID) (*scoreboard.Top, error) {
	reply, asOf, err := r.read(ctx, r.top, liveKeys(board)[:2])
	if err != nil {
		return nil, fmt.Errorf("read the top of board %s: %w", board, err)
	}
	top := &scoreboard.Top{Board: board, Epoch: reply.int(0), Version: reply.int(1), AsOf: asOf, Total: reply.int(5)}
	top.UpdatedAt = time.UnixMicro(reply.int(2)).UTC()
	if top.Entries, err = unpackHead(reply.string(4), scoreboard.Order(reply.string(3))); err != nil {
		return nil, fmt.Errorf("read the top of board %s: %w", board, err)
	}
	return top, reply.err
}

// Place returns a user's standing with k neighbours on each side (none asked
// for: nil), a not_found where the user is not ranked, or ErrCold.
func (r *Ranking) Place(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID, k int) (*scoreboard.Place, error) {
	reply, asOf, err := r.read(ctx, r.place, liveKeys(board), string(user), k)
	if err != nil {
		return nil, fmt.Errorf("read the place of %s on board %s: %w", user, board, err)
	}
	if len(reply.values) < 6 {
		return nil, scoreboard.Errorf(scoreboard.CodeNotFound, "user %s has no score on board %s", user, board)
	}
	order, state := scoreboard.Order(reply.string(2)), reply.string(5)
	key, _, _, err := parseState(state)
	if err != nil {
		return nil, err
	}
	p := &scoreboard.Place{
		Board: board, User: user, Score: order.Score(key), Rank: reply.int(4) + 1, Total: reply.int(3),
		Version: reply.int(1), Epoch: reply.int(0), UpdatedAt: reachedAt(state), AsOf: asOf,
	}
	for i := 7; i+1 < len(reply.values); i += 2 {
		member := reply.string(i)
		key, err := parseKey(reply.string(i + 1))
		if err != nil || len(member) <= prefixLength {
			return nil, fmt.Errorf("read the neighbours of %s on board %s: row is malformed: %w", user, board, err)
		}
		p.Neighbours = append(p.Neighbours, scoreboard.Entry{
			Rank: reply.int(6) + int64(len(p.Neighbours)) + 1,
			User: scoreboard.UserID(member[prefixLength:]), Score: order.Score(key),
		})
	}
	return p, reply.err
}

// parseState reads what put.lua keeps for a user.
func parseState(state string) (key, revision int64, hidden bool, err error) {
	if len(state) <= prefixLength {
		return 0, 0, false, fmt.Errorf("read a user's state: %q is too short", state)
	}
	var h int
	if _, err := fmt.Sscanf(state[prefixLength:], "%d %d %d", &key, &revision, &h); err != nil {
		return 0, 0, false, fmt.Errorf("read a user's state: %w", err)
	}
	return key, revision, h == 1, nil
}

// Ranks returns a 1-based rank for each user, or nil where one is not ranked;
// ErrCold where the board is not there. A score is a standing that may not have
// been applied yet; a nil score asks for the rank of today.
func (r *Ranking) Ranks(ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID, scores []*scoreboard.Score) ([]*int64, error) {
	args := make([]any, 0, 2*len(users))
	for i, user := range users {
		key := ""
		if scores[i] != nil {
			key = strconv.FormatInt(board.Order.Key(*scores[i]), 10)
		}
		args = append(args, string(user), key)
	}
	found, err := r.ranking.Run(ctx, r.rdb, liveKeys(board.ID), args...).Int64Slice()
	if errors.Is(err, redis.Nil) {
		err = ErrCold
	}
	if err != nil {
		return nil, fmt.Errorf("rank %d users on board %s: %w", len(users), board.ID, err)
	}
	ranks := make([]*int64, len(found))
	for i := range found {
		if found[i] > 0 {
			ranks[i] = &found[i]
		}
	}
	return ranks, nil
}

// read runs a script and asks how fresh the ranking is, in one round trip.
func (r *Ranking) read(ctx context.Context, script *redis.Script, keys []string, args ...any) (*reply, time.Time, error) {
	var answer *redis.Cmd
	var fresh *redis.MapStringStringCmd
	ask := func(run func(redis.Scripter) *redis.Cmd) error {
		_, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			answer = run(p)
			fresh = p.HGetAll(ctx, freshKey)
			return nil
		})
		return err
	}
	err := ask(func(s redis.Scripter) *redis.Cmd { return script.EvalSha(ctx, s, keys, args...) })
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		err = ask(func(s redis.Scripter) *redis.Cmd { return script.Eval(ctx, s, keys, args...) })
	}
	if errors.Is(err, redis.Nil) {
		return nil, time.Time{}, ErrCold
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	values, err := answer.Slice()
	if err != nil {
		return nil, time.Time{}, err
	}
	return &reply{values: values}, asOf(fresh.Val()), nil
}

// asOf is the time before which everything is applied: the least advanced of
// all shards and partitions decides. Zero while one has not reported.
func asOf(fresh map[string]string) time.Time {
	var shards, partitions int
	if _, err := fmt.Sscanf(fresh["of"], "%d/%d", &shards, &partitions); err != nil {
		return time.Time{}
	}
	var least int64
	for shard := range shards {
		for partition := range partitions {
			n, err := strconv.ParseInt(fresh[freshField(shard, partition)], 10, 64)
			if err != nil {
				return time.Time{}
			}
			if least == 0 || n < least {
				least = n
			}
		}
	}
	return time.UnixMicro(least).UTC()
}

// reply is a script's answer; the first field that does not fit sets err.
type reply struct {
	values []any
	err    error
}

func (r *reply) string(i int) string {
	s, ok := r.values[i].(string)
	if !ok {
		r.fail(i)
	}
	return s
}

func (r *reply) int(i int) int64 {
	switch v := r.values[i].(type) {
	case int64:
		return v
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			r.fail(i)
		}
		return n
	}
	r.fail(i)
	return 0
}

func (r *reply) fail(i int) {
	if r.err == nil {
		r.err = fmt.Errorf("field %d of a script's answer is malformed: %v", i, r.values[i])
	}
}
