package ranking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Top returns the head of a board, or scoreboard.ErrNotLoaded.
func (r *Ranking) Top(ctx context.Context, board scoreboard.BoardID) (*scoreboard.Top, error) {
	return onLayout(ctx, r, board, func() (*scoreboard.Top, error) {
		return r.rows(ctx, board, r.top, scoreboard.TopSize)
	}, func(l layout) (*scoreboard.Top, error) {
		return r.mergedTop(ctx, l)
	})
}

// Page returns up to limit standings behind a position, which need not be taken,
// or scoreboard.ErrNotLoaded.
func (r *Ranking) Page(
	ctx context.Context,
	board scoreboard.BoardID,
	after *scoreboard.Position,
	limit int,
) (*scoreboard.Top, error) {
	return r.Around(ctx, board, after, 0, limit)
}

// Around returns up to before standings at or ahead of a position, which need not be taken, and up to
// behind standings behind it, or scoreboard.ErrNotLoaded.
func (r *Ranking) Around(
	ctx context.Context,
	board scoreboard.BoardID,
	at *scoreboard.Position,
	before, behind int,
) (*scoreboard.Top, error) {
	return onLayout(ctx, r, board, func() (*scoreboard.Top, error) {
		return r.rows(
			ctx, board, r.page, behind, strconv.FormatInt(at.Key, 10), prefix(at.ReachedAt)+string(at.User), before,
		)
	}, func(l layout) (*scoreboard.Top, error) {
		return r.mergedAround(ctx, l, at, before, behind)
	})
}

// rows runs a script that returns epoch, version, updated, order, total, the 0-based
// rank of the first row, and rows.
func (r *Ranking) rows(
	ctx context.Context,
	board scoreboard.BoardID,
	script *redis.Script,
	limit int,
	args ...any,
) (*scoreboard.Top, error) {
	reply, err := r.read(ctx, script, board, append([]any{limit}, args...)...)
	if err != nil {
		return nil, translate(fmt.Errorf("read %d rows of board %s: %w", limit, board, err))
	}
	top := &scoreboard.Top{
		Board:     board,
		Epoch:     reply.int(0),
		Version:   reply.int(1),
		UpdatedAt: microTime(reply.int(2)),
		AsOf:      reply.asOf,
		Total:     reply.int(4),
		State:     reply.state,
		Entries:   make([]scoreboard.Entry, 0, (len(reply.values)-6)/2),
		Reached:   make([]time.Time, 0, (len(reply.values)-6)/2),
	}
	users := make([]byte, 0, 16*cap(top.Entries))
	reply.entries(6, reply.int(5), scoreboard.Order(reply.string(3)), func(e scoreboard.Entry, reached time.Time) {
		top.Entries, top.Reached = append(top.Entries, e), append(top.Reached, reached)
		users = append(users, e.User...)
	})
	// Heads are cached: users in one string take a third of the memory.
	all := scoreboard.UserID(users)
	for i := range top.Entries {
		n := len(top.Entries[i].User)
		top.Entries[i].User, all = all[:n], all[n:]
	}
	if reply.err != nil {
		return nil, fmt.Errorf("read %d rows of board %s: %w", limit, board, reply.err)
	}
	return top, nil
}

// Place returns a user's standing with k neighbours on each side (nil if k is 0),
// a not_found where the user is not ranked, or scoreboard.ErrNotLoaded.
func (r *Ranking) Place(
	ctx context.Context,
	board scoreboard.BoardID,
	user scoreboard.UserID,
	k int,
) (*scoreboard.Place, error) {
	return onLayout(ctx, r, board, func() (*scoreboard.Place, error) {
		return r.wholePlace(ctx, board, user, k)
	}, func(l layout) (*scoreboard.Place, error) {
		return r.mergedPlace(ctx, l, user, k)
	})
}

func (r *Ranking) wholePlace(
	ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID, k int,
) (*scoreboard.Place, error) {
	reply, err := r.read(ctx, r.place, board, string(user), k)
	if err != nil {
		return nil, translate(fmt.Errorf("read the standing of %s on board %s: %w", user, board, err))
	}
	if len(reply.values) < 6 {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "user %s has no score on board %s", user, board)
	}
	order, raw := scoreboard.Order(reply.string(2)), reply.string(5)
	kept, err := parseState(raw)
	if err != nil {
		return nil, err
	}
	p := &scoreboard.Place{
		Board: board, User: user, Score: order.Score(kept.key), Rank: reply.int(4) + 1, Total: reply.int(3),
		Version: reply.int(1), Epoch: reply.int(0), UpdatedAt: reachedAt(raw), AsOf: reply.asOf,
		UserVersion: kept.version, Revision: kept.revision, State: reply.state,
	}
	if k > 0 {
		p.Neighbours = make([]scoreboard.Entry, 0, (len(reply.values)-7)/2)
		reply.entries(
			7, reply.int(6), order,
			func(e scoreboard.Entry, _ time.Time) { p.Neighbours = append(p.Neighbours, e) },
		)
	}
	if reply.err != nil {
		return nil, fmt.Errorf("read the standing of %s on board %s: %w", user, board, reply.err)
	}
	return p, nil
}

// List returns the standings of users, all at one version, or scoreboard.ErrNotLoaded.
func (r *Ranking) List(
	ctx context.Context,
	board scoreboard.BoardID,
	users []scoreboard.UserID,
) (*scoreboard.List, error) {
	return onLayout(ctx, r, board, func() (*scoreboard.List, error) {
		return r.wholeList(ctx, board, users)
	}, func(l layout) (*scoreboard.List, error) {
		return r.mergedList(ctx, l, users)
	})
}

func (r *Ranking) wholeList(
	ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID,
) (*scoreboard.List, error) {
	args := make([]any, len(users))
	for i, u := range users {
		args[i] = string(u)
	}
	reply, err := r.read(ctx, r.list, board, args...)
	if err != nil {
		return nil, translate(fmt.Errorf("read %d standings of board %s: %w", len(users), board, err))
	}
	l := &scoreboard.List{
		Board:   board,
		Epoch:   reply.int(0),
		Version: reply.int(1),
		AsOf:    reply.asOf,
		Total:   reply.int(3),
		State:   reply.state,
	}
	order := scoreboard.Order(reply.string(2))
	for i, user := range users {
		rank := reply.int(4 + 2*i)
		if rank < 0 {
			l.Missing = append(l.Missing, user)
			continue
		}
		kept, err := parseState(reply.string(5 + 2*i))
		if err != nil {
			return nil, err
		}
		l.Entries = append(l.Entries, scoreboard.Entry{Rank: rank + 1, User: user, Score: order.Score(kept.key)})
	}
	if reply.err != nil {
		return nil, fmt.Errorf("read %d standings of board %s: %w", len(users), board, reply.err)
	}
	slices.SortFunc(l.Entries, func(a, b scoreboard.Entry) int { return cmp.Compare(a.Rank, b.Rank) })
	return l, nil
}

// Ranks returns a 1-based rank for each user, or nil where one is not ranked;
// scoreboard.ErrNotLoaded where the board is not loaded. A score is a standing that may
// not have been applied yet; a nil score means the current rank.
func (r *Ranking) Ranks(
	ctx context.Context,
	board *scoreboard.Board,
	users []scoreboard.UserID,
	scores []*scoreboard.Score,
) ([]*int64, error) {
	keys := make([]*int64, len(users))
	for i, score := range scores {
		if score != nil {
			key := board.Order.Key(*score)
			keys[i] = &key
		}
	}
	return onLayout(ctx, r, board.ID, func() ([]*int64, error) {
		return r.wholeRanks(ctx, board.ID, users, keys)
	}, func(l layout) ([]*int64, error) {
		return r.mergedRanks(ctx, l, users, keys)
	})
}

func (r *Ranking) wholeRanks(
	ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID, keys []*int64,
) ([]*int64, error) {
	args := make([]any, 0, 2*len(users))
	for i, user := range users {
		key := ""
		if keys[i] != nil {
			key = strconv.FormatInt(*keys[i], 10)
		}
		args = append(args, string(user), key)
	}
	run, from := r.ranking.Run, redis.Scripter(r.rdb)
	if r.replica {
		server, err := r.replicaOf(ctx, r.keys.bucket(board))
		if err != nil {
			return nil, translate(fmt.Errorf("rank %d users on board %s: %w", len(users), board, err))
		}
		run, from = r.ranking.RunRO, server
	}
	found, err := run(ctx, from, r.keys.live(board), args...).Int64Slice()
	if errors.Is(err, redis.Nil) {
		err = scoreboard.ErrNotLoaded
	}
	if err != nil {
		return nil, translate(fmt.Errorf("rank %d users on board %s: %w", len(users), board, err))
	}
	ranks := make([]*int64, len(found))
	for i := range found {
		if found[i] > 0 {
			ranks[i] = &found[i]
		}
	}
	return ranks, nil
}

// read runs a script whose reply starts with the facts of basis, and returns the
// rest of the reply with how fresh the board was before it, in one round trip to one
// server. It returns scoreboard.ErrNotLoaded where the board is not loaded, or must be rebuilt
// before it can be trusted.
func (r *Ranking) read(
	ctx context.Context,
	script *redis.Script,
	board scoreboard.BoardID,
	args ...any,
) (*reply, error) {
	bucket := r.keys.bucket(board)
	known := r.recent(bucket)
	answer, found, err := r.eval(ctx, script, board, known == nil, args)
	if answered := err == nil || errors.Is(err, redis.Nil); answered && known != nil && found.beat != known.beat {
		// A heartbeat has come since, or another server has answered, which may be behind.
		known = nil
		answer, found, err = r.eval(ctx, script, board, true, args)
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		r.known[bucket].Store(nil)
		return nil, err
	}
	if known == nil {
		known = found
		r.remember(bucket, known)
	}
	if err != nil {
		return nil, scoreboard.ErrNotLoaded
	}
	values, err := answer.Slice()
	if err != nil {
		return nil, err
	}
	reply := &reply{values: values}
	b := reply.basis()
	if reply.err != nil {
		return nil, reply.err
	}
	reply.asOf, reply.state, err = known.evaluate(&b)
	return reply, err
}

// eval runs a script on a board, and reads what its server knows of its freshness before: all of it,
// or the beat only. The error is that of the script.
func (r *Ranking) eval(
	ctx context.Context, script *redis.Script, board scoreboard.BoardID, all bool, args []any,
) (answer *redis.Cmd, found *freshness, err error) {
	bucket, keys := r.keys.bucket(board), r.keys.live(board)
	byHash, whole, from := script.EvalSha, script.Eval, r.rdb
	if r.replica {
		byHash, whole = script.EvalShaRO, script.EvalRO
		if from, err = r.replicaOf(ctx, bucket); err != nil {
			return nil, nil, err
		}
	}
	var fresh *redis.MapStringStringCmd
	var beat *redis.StringCmd
	ask := func(eval func(context.Context, redis.Scripter, []string, ...any) *redis.Cmd) {
		_, _ = from.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
			// First, so that it claims nothing that the script misses.
			if all {
				fresh = p.HGetAll(ctx, r.keys.fresh(bucket))
			} else {
				beat = p.HGet(ctx, r.keys.fresh(bucket), "beat")
			}
			answer = eval(ctx, p, keys, args...)
			return nil
		})
	}
	if ask(byHash); redis.HasErrorPrefix(answer.Err(), "NOSCRIPT") {
		ask(whole)
	}
	if !all {
		return answer, &freshness{beat: beat.Val()}, answer.Err()
	}
	if err := fresh.Err(); err != nil {
		return nil, nil, err
	}
	return answer, parseFreshness(fresh.Val()), answer.Err()
}

// reply is the rest of a script's reply and how fresh the board is; the first
// malformed field sets err.
type reply struct {
	values []any
	asOf   time.Time
	state  scoreboard.BoardState
	err    error
}

// newReply returns a reply of so many values.
func newReply(values []any, want int) (*reply, error) {
	if len(values) != want {
		return nil, fmt.Errorf("a script replied with %d values, want %d", len(values), want)
	}
	return &reply{values: values}, nil
}

// basis takes the first facts of a reply: server, since, asof, built.
func (r *reply) basis() basis {
	optional := func(i int) int64 {
		if r.values[i] == nil {
			return 0
		}
		return r.int(i)
	}
	b := basis{since: optional(1), asOf: optional(2), built: microTime(r.int(3))}
	b.server, _ = r.values[0].(string)
	r.values = r.values[4:]
	return b
}

// freshness takes the record of a bucket, which comes first: field, value, ….
func (r *reply) freshness() *freshness {
	flat, ok := r.values[0].([]any)
	if !ok {
		r.fail(0)
	}
	record := make(map[string]string, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		field, _ := flat[i].(string)
		record[field], _ = flat[i+1].(string)
	}
	r.values = r.values[1:]
	return parseFreshness(record)
}

// entries calls do with the rows from index i on, which alternate member and key.
// first is the 0-based rank of the first row.
func (r *reply) entries(i int, first int64, order scoreboard.Order, do func(e scoreboard.Entry, reached time.Time)) {
	for ; i+1 < len(r.values); i += 2 {
		member := r.string(i)
		key, err := parseKey(r.string(i + 1))
		if err != nil || len(member) <= prefixLength {
			r.fail(i)
			return
		}
		first++
		do(
			scoreboard.Entry{Rank: first, User: scoreboard.UserID(member[prefixLength:]), Score: order.Score(key)},
			reachedAt(member),
		)
	}
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
		r.err = fmt.Errorf("field %d of a script's reply is malformed: %v", i, r.values[i])
	}
}
