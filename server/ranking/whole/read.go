package whole

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
	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Boards reads boards in one piece.
type Boards struct {
	*piece.Conn
	pieces                          *piece.States
	top, page, place, list, ranking *redis.Script
	basis                           *redis.Script
}

// New reads and repairs by c.
func New(c *piece.Conn, p *piece.States) *Boards {
	return &Boards{
		Conn: c, pieces: p,
		top:     redis.NewScript(piece.LuaWidth + piece.LuaCounts + luaTop),
		page:    redis.NewScript(piece.LuaWidth + piece.LuaCounts + piece.LuaSearch + piece.LuaTies + luaPage),
		place:   redis.NewScript(piece.LuaWidth + piece.LuaCounts + piece.LuaSearch + piece.LuaTies + luaPlace),
		list:    redis.NewScript(piece.LuaWidth + piece.LuaCounts + piece.LuaSearch + piece.LuaTies + luaList),
		ranking: redis.NewScript(piece.LuaWidth + piece.LuaCounts + piece.LuaSearch + piece.LuaTies + luaRanks),
		basis:   redis.NewScript(piece.LuaWidth + piece.LuaCounts + luaBasis),
	}
}

// Top returns the merged top.
func (r *Boards) Top(ctx context.Context, l piece.Layout) (*scoreboard.Top, error) {
	return r.rows(ctx, l, r.top, scoreboard.TopSize)
}

// Around returns up to before rows at or ahead of a position, and up to behind rows behind it.
func (r *Boards) Around(
	ctx context.Context, l piece.Layout, at *scoreboard.Position, before, behind int,
) (*scoreboard.Top, error) {
	return r.rows(
		ctx, l, r.page, behind, strconv.FormatInt(at.Key, 10), piece.Orders{Subscore: l.Subscore}.Member(at), before,
		sharedArgument(l),
	)
}

// sharedArgument has a script return shared ranks.
func sharedArgument(l piece.Layout) string {
	if l.Shared {
		return "1"
	}
	return ""
}

// rows runs a script that returns epoch, version, updated, order, total, the index of the
// first row from 0, its 0-based rank, and rows.
func (r *Boards) rows(
	ctx context.Context, l piece.Layout, script *redis.Script, limit int, args ...any,
) (*scoreboard.Top, error) {
	board := l.Board
	reply, err := r.read(ctx, script, board, append([]any{limit}, args...)...)
	if err != nil {
		return nil, piece.Translate(fmt.Errorf("read %d rows of board %s: %w", limit, board, err))
	}
	orders := piece.ParseOrders(reply.Text(3))
	if err := l.Check(orders); err != nil {
		return nil, err
	}
	top := &scoreboard.Top{
		Board:     board,
		Epoch:     reply.Int(0),
		Version:   reply.Int(1),
		UpdatedAt: piece.MicroTime(reply.Int(2)),
		AsOf:      reply.AsOf,
		Total:     reply.Int(4),
		State:     reply.State,
		Subscores: orders.Subscore != "",
		Entries:   make([]scoreboard.Entry, 0, (len(reply.Values)-7)/2),
		Reached:   make([]time.Time, 0, (len(reply.Values)-7)/2),
	}
	users := make([]byte, 0, 16*cap(top.Entries))
	reply.Entries(7, reply.Int(5), orders, func(e scoreboard.Entry, reached time.Time) {
		top.Entries, top.Reached = append(top.Entries, e), append(top.Reached, reached)
		users = append(users, e.User...)
	})
	// Heads are cached: users in one string take a third of the memory.
	all := scoreboard.UserID(users)
	for i := range top.Entries {
		n := len(top.Entries[i].User)
		top.Entries[i].User, all = all[:n], all[n:]
	}
	if l.Shared {
		top.ShareRanks(reply.Int(6) + 1)
	}
	if reply.Err != nil {
		return nil, fmt.Errorf("read %d rows of board %s: %w", limit, board, reply.Err)
	}
	return top, nil
}

// Place returns a user's standing with k neighbours on each side.
func (r *Boards) Place(
	ctx context.Context, l piece.Layout, user scoreboard.UserID, k int,
) (*scoreboard.Place, error) {
	board := l.Board
	reply, err := r.read(ctx, r.place, board, string(user), k, sharedArgument(l))
	if err != nil {
		return nil, piece.Translate(fmt.Errorf("read the standing of %s on board %s: %w", user, board, err))
	}
	if len(reply.Values) < 6 {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "user %s has no score on board %s", user, board)
	}
	orders, raw := piece.ParseOrders(reply.Text(2)), reply.Text(5)
	if err := l.Check(orders); err != nil {
		return nil, err
	}
	kept, err := piece.ParseState(raw, orders.Width())
	if err != nil {
		return nil, err
	}
	pair := orders.Pair(kept.Key, raw)
	p := &scoreboard.Place{
		Board: board, User: user, Score: pair.Score, Subscore: pair.Subscore,
		Rank: reply.Int(4) + 1, Total: reply.Int(3),
		Version: reply.Int(1), Epoch: reply.Int(0), UpdatedAt: orders.ReachedAt(raw), AsOf: reply.AsOf,
		UserVersion: kept.Version, Revision: kept.Revision, State: reply.State,
	}
	if k > 0 {
		p.Neighbours = make([]scoreboard.Entry, 0, (len(reply.Values)-8)/2)
		reply.Entries(
			8, reply.Int(6), orders,
			func(e scoreboard.Entry, _ time.Time) { p.Neighbours = append(p.Neighbours, e) },
		)
		if l.Shared {
			scoreboard.ShareRanks(p.Neighbours, reply.Int(7)+1)
		}
	}
	if reply.Err != nil {
		return nil, fmt.Errorf("read the standing of %s on board %s: %w", user, board, reply.Err)
	}
	return p, nil
}

// List returns the standings of users, all at one version.
func (r *Boards) List(
	ctx context.Context, of piece.Layout, users []scoreboard.UserID,
) (*scoreboard.List, error) {
	board := of.Board
	args := make([]any, 1, 1+len(users))
	args[0] = sharedArgument(of)
	for _, u := range users {
		args = append(args, string(u))
	}
	reply, err := r.read(ctx, r.list, board, args...)
	if err != nil {
		return nil, piece.Translate(fmt.Errorf("read %d standings of board %s: %w", len(users), board, err))
	}
	l := &scoreboard.List{
		Board:   board,
		Epoch:   reply.Int(0),
		Version: reply.Int(1),
		AsOf:    reply.AsOf,
		Total:   reply.Int(3),
		State:   reply.State,
	}
	orders := piece.ParseOrders(reply.Text(2))
	if err := of.Check(orders); err != nil {
		return nil, err
	}
	var members map[scoreboard.UserID]string // in the order of those with the same rank
	if of.Shared {
		members = make(map[scoreboard.UserID]string, len(users))
	}
	for i, user := range users {
		rank := reply.Int(4 + 2*i)
		if rank < 0 {
			l.Missing = append(l.Missing, user)
			continue
		}
		raw := reply.Text(5 + 2*i)
		kept, err := piece.ParseState(raw, orders.Width())
		if err != nil {
			return nil, err
		}
		if of.Shared {
			members[user] = kept.Prefix + string(user)
		}
		pair := orders.Pair(kept.Key, raw)
		l.Entries = append(l.Entries, scoreboard.Entry{
			Rank: rank + 1, User: user, Score: pair.Score, Subscore: pair.Subscore,
		})
	}
	if reply.Err != nil {
		return nil, fmt.Errorf("read %d standings of board %s: %w", len(users), board, reply.Err)
	}
	slices.SortFunc(l.Entries, func(a, b scoreboard.Entry) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(members[a.User], members[b.User]))
	})
	return l, nil
}

// Ranks ranks users by keys of standings that were just recorded, nil for the current rank.
func (r *Boards) Ranks(
	ctx context.Context, l piece.Layout, users []scoreboard.UserID, keys []*piece.Keys,
) ([]*int64, error) {
	board := l.Board
	args := make([]any, 2, 2+3*len(users))
	args[0], args[1] = sharedArgument(l), piece.Orders{Subscore: l.Subscore}.Width()
	for i, user := range users {
		key := ""
		if keys[i] != nil {
			key = strconv.FormatInt(keys[i].Key, 10)
		}
		args = append(args, string(user), key)
		switch {
		case l.Subscore == "":
		case keys[i] == nil:
			args = append(args, "")
		default:
			args = append(args, piece.SubPrefix(keys[i].SubKey))
		}
	}
	run, from := r.ranking.Run, redis.Scripter(r.Redis)
	if r.Replica {
		server, err := r.ReplicaOf(ctx, r.Keys.Bucket(board))
		if err != nil {
			return nil, piece.Translate(fmt.Errorf("rank %d users on board %s: %w", len(users), board, err))
		}
		run, from = r.ranking.RunRO, server
	}
	found, err := run(ctx, from, r.Keys.Live(board), args...).Int64Slice()
	if errors.Is(err, redis.Nil) {
		err = scoreboard.ErrNotLoaded
	}
	if err != nil {
		return nil, piece.Translate(fmt.Errorf("rank %d users on board %s: %w", len(users), board, err))
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
func (r *Boards) read(
	ctx context.Context,
	script *redis.Script,
	board scoreboard.BoardID,
	args ...any,
) (*piece.Reply, error) {
	bucket := r.Keys.Bucket(board)
	known := r.Recent(bucket)
	answer, found, err := r.eval(ctx, script, board, known == nil, args)
	if answered := err == nil || errors.Is(err, redis.Nil); answered && known != nil && found.Beat != known.Beat {
		// A heartbeat has come since, or another server has answered, which may be behind.
		known = nil
		answer, found, err = r.eval(ctx, script, board, true, args)
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		r.Known[bucket].Store(nil)
		return nil, err
	}
	if known == nil {
		known = found
		r.Remember(bucket, known)
	}
	if err != nil {
		return nil, scoreboard.ErrNotLoaded
	}
	values, err := answer.Slice()
	if err != nil {
		return nil, err
	}
	reply := &piece.Reply{Values: values}
	b := reply.Basis()
	if reply.Err != nil {
		return nil, reply.Err
	}
	reply.AsOf, reply.State, err = known.Evaluate(&b)
	return reply, err
}

// eval runs a script on a board, and reads what its server knows of its freshness before: all of it,
// or the beat only. The error is that of the script.
func (r *Boards) eval(
	ctx context.Context, script *redis.Script, board scoreboard.BoardID, all bool, args []any,
) (answer *redis.Cmd, found *piece.Freshness, err error) {
	bucket, keys := r.Keys.Bucket(board), r.Keys.Live(board)
	byHash, whole, from := script.EvalSha, script.Eval, r.Redis
	if r.Replica {
		byHash, whole = script.EvalShaRO, script.EvalRO
		if from, err = r.ReplicaOf(ctx, bucket); err != nil {
			return nil, nil, err
		}
	}
	var fresh *redis.MapStringStringCmd
	var beat *redis.StringCmd
	ask := func(eval func(context.Context, redis.Scripter, []string, ...any) *redis.Cmd) {
		_, _ = from.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
			// First, so that it claims nothing that the script misses.
			if all {
				fresh = p.HGetAll(ctx, r.Keys.Fresh(bucket))
			} else {
				beat = p.HGet(ctx, r.Keys.Fresh(bucket), "beat")
			}
			answer = eval(ctx, p, keys, args...)
			return nil
		})
	}
	if ask(byHash); redis.HasErrorPrefix(answer.Err(), "NOSCRIPT") {
		ask(whole)
	}
	if !all {
		return answer, &piece.Freshness{Beat: beat.Val()}, answer.Err()
	}
	if err := fresh.Err(); err != nil {
		return nil, nil, err
	}
	return answer, piece.ParseFreshness(fresh.Val()), answer.Err()
}
