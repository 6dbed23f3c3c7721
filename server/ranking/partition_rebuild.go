package ranking

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// relayout is a rebuild of a board that is, or will be, in partitions. Its mark is the
// shadow of the board itself; the partitions have shadows of their own, with the same token.
//
// If the live board has another layout, a process that changes one of its pieces is told to
// change the shadows first (apply.lua). These marks are renewed after the shadows', so that
// they expire last: what can be swapped in has every change since it was marked.
type relayout struct {
	to   layout // of one partition: in one piece
	live []scoreboard.BoardID
}

// targets names the pieces that will be live.
func (p *relayout) targets() []scoreboard.BoardID {
	if p.to.count > 1 {
		return p.to.parts()
	}
	return []scoreboard.BoardID{p.to.board}
}

// piece returns the piece that a user will be in.
func (p *relayout) piece(user scoreboard.UserID) scoreboard.BoardID {
	if p.to.count > 1 {
		return p.to.part(p.to.of(user))
	}
	return p.to.board
}

// shadows names the shadows that the board cannot be replaced without: the targets', and that
// of the board.
func (p *relayout) shadows() []scoreboard.BoardID {
	shadows := p.targets()
	if p.to.count > 1 {
		shadows = append(shadows, p.to.board)
	}
	return shadows
}

// marks names the live pieces that have a mark beside those.
func (p *relayout) marks() []scoreboard.BoardID {
	return slices.DeleteFunc(slices.Clone(p.live), func(name scoreboard.BoardID) bool { return name == p.to.board })
}

// rebuildKey identifies a rebuild in this process.
type rebuildKey struct {
	board scoreboard.BoardID
	token string
}

// rebuilds replaces boards that are, or will be, in partitions.
type rebuilds struct {
	*conn
	layouts                        *layouts
	partitions                     *partitions
	shadows                        shadowScripts
	begin, reserve, redirect, join *redis.Script
	quietSwap                      *redis.Script
	discardPart, forgetLayout      *redis.Script
	relayouts                      sync.Map // by rebuildKey: the rebuilds of this process
}

func newRebuilds(c *conn, of *layouts, parts *partitions, shadows shadowScripts) *rebuilds {
	return &rebuilds{
		conn: c, layouts: of, partitions: parts, shadows: shadows,
		begin:        redis.NewScript(luaDivide + luaBegin),
		reserve:      redis.NewScript(luaDivide + luaReserve),
		redirect:     redis.NewScript(luaSeal + luaRedirect),
		join:         redis.NewScript(luaPut + luaSeal + luaJoin + luaSwap),
		quietSwap:    redis.NewScript(luaPut + luaQuiet + luaSeal + luaSwap),
		discardPart:  redis.NewScript(luaDiscard),
		forgetLayout: redis.NewScript(luaForget),
	}
}

// rebuilding returns what a rebuild is about, nil for one of a board that is and stays in
// one piece.
func (r *rebuilds) rebuilding(board scoreboard.BoardID, token string) *relayout {
	p, ok := r.relayouts.Load(rebuildKey{board, token})
	if !ok {
		return nil
	}
	return p.(*relayout)
}

// markLayout marks what a rebuild needs beside the shadow of the board, which is marked.
// False: another rebuild has marked some of it.
func (r *rebuilds) markLayout(ctx context.Context, b *scoreboard.Board, token string) (bool, error) {
	p := &relayout{to: layout{b.ID, max(b.Partitions, 1)}}
	now, divided, err := r.layouts.learn(ctx, b.ID)
	if err != nil {
		return false, err
	}
	if !divided && p.to.count == 1 {
		return true, nil
	}
	if err := r.recordLayouts(ctx, token, p.to, now); err != nil {
		return false, err
	}
	switch {
	case divided && now == p.to:
	case divided:
		p.live = now.parts()
	default:
		if loaded, err := r.reserve.Run(ctx, r.rdb, r.keys.live(b.ID), p.to.count).Int64(); err != nil {
			return false, err
		} else if loaded == 0 {
			p.live = []scoreboard.BoardID{b.ID}
		}
	}
	r.relayouts.Store(rebuildKey{b.ID, token}, p)
	marked := true
	names := p.targets()
	if p.to.count == 1 {
		names = nil // it is the shadow of the board
	}
	if err := r.each(ctx, append(names, p.marks()...), func(run runner, name scoreboard.BoardID) *redis.Cmd {
		return run(r.shadows.mark, r.keys.shadow(name), token, markLife.Milliseconds())
	}, func(_ scoreboard.BoardID, n int64) error {
		marked = marked && n == 1
		return nil
	}); err != nil || !marked {
		return false, err
	}
	err = r.each(ctx, p.live, func(run runner, name scoreboard.BoardID) *redis.Cmd {
		return run(r.redirect, r.keys.shadow(name), token, p.to.count)
	}, ownMark)
	return err == nil, err
}

// runner queues a script in a pipeline.
type runner = func(*redis.Script, []string, ...any) *redis.Cmd

// each runs a script for each name in one round trip, once, and calls then with what it
// returned.
func (r *conn) each(
	ctx context.Context, names []scoreboard.BoardID, script func(runner, scoreboard.BoardID) *redis.Cmd,
	then func(scoreboard.BoardID, int64) error,
) error {
	if len(names) == 0 {
		return nil
	}
	answers := make([]*redis.Cmd, len(names))
	_, _ = r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error { // each answer has its own error
		for i, name := range names {
			answers[i] = script(func(s *redis.Script, keys []string, args ...any) *redis.Cmd {
				return s.EvalSha(ctx, p, keys, args...)
			}, name)
		}
		return nil
	})
	for i, name := range names {
		if redis.HasErrorPrefix(answers[i].Err(), "NOSCRIPT") { // on this server
			answers[i] = script(func(s *redis.Script, keys []string, args ...any) *redis.Cmd {
				return s.Eval(ctx, r.rdb, keys, args...)
			}, name)
		}
	}
	for i, name := range names {
		n, err := answers[i].Int64()
		if err == nil {
			err = then(name, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ownMark is for scripts that return 0 or less where a mark is not the caller's.
func ownMark(_ scoreboard.BoardID, n int64) error {
	if n <= 0 {
		return errMarkLost
	}
	return nil
}

// fillLayout renews the shadows and writes changes to them, then renews the marks.
func (r *rebuilds) fillLayout(ctx context.Context, p *relayout, token string, changes []scoreboard.Change) error {
	fill := func(run runner, name scoreboard.BoardID, args ...any) *redis.Cmd {
		return run(r.shadows.fill, r.keys.shadow(name), append([]any{token, markLife.Milliseconds()}, args...)...)
	}
	owned := func(_ scoreboard.BoardID, n int64) error {
		if n < 0 {
			return errMarkLost
		}
		return nil
	}
	args := make(map[scoreboard.BoardID][]any, p.to.count)
	for i := range changes {
		name := p.piece(changes[i].User)
		args[name] = appendChange(args[name], &changes[i])
	}
	if err := r.each(ctx, p.shadows(), func(run runner, name scoreboard.BoardID) *redis.Cmd {
		return fill(run, name, args[name]...)
	}, owned); err != nil {
		return err
	}
	return r.each(ctx, p.marks(), func(run runner, name scoreboard.BoardID) *redis.Cmd {
		return fill(run, name)
	}, owned)
}

// fenceLayout fences the marks of live pieces, then the shadows.
func (r *rebuilds) fenceLayout(ctx context.Context, p *relayout, token string, since time.Time) error {
	fence := func(run runner, name scoreboard.BoardID) *redis.Cmd {
		return run(r.shadows.fence, r.keys.shadow(name), token, since.UnixMicro())
	}
	if err := r.each(ctx, p.marks(), fence, ownMark); err != nil {
		return err
	}
	return r.each(ctx, p.shadows(), fence, ownMark)
}

// unmarkLayout removes the marks, then the shadows.
func (r *rebuilds) unmarkLayout(ctx context.Context, p *relayout, token string) error {
	r.relayouts.Delete(rebuildKey{p.to.board, token})
	unmark := func(run runner, name scoreboard.BoardID) *redis.Cmd {
		return run(r.shadows.unmark, r.keys.shadow(name), token)
	}
	ignore := func(scoreboard.BoardID, int64) error { return nil }
	return errors.Join(r.each(ctx, p.marks(), unmark, ignore), r.each(ctx, p.shadows(), unmark, ignore))
}

// swapLayout replaces the live board by the shadows.
func (r *rebuilds) swapLayout(
	ctx context.Context, p *relayout, board *scoreboard.Board, token string, s *scoreboard.Snapshot,
) (int64, error) {
	if err := r.fillLayout(ctx, p, token, nil); err != nil {
		return 0, err
	}
	if p.to.count == 1 {
		users, err := swapped(r.join.Run(ctx, r.rdb, append(r.keys.both(board.ID), r.keys.head(board.ID)),
			swapArguments(board, board.ID, token, s, s.Users)...))
		if err != nil {
			return 0, err
		}
		r.layouts.counts.Delete(board.ID)
		r.leaveFormer(ctx, p, token)
		return users, nil
	}
	if err := r.countShadows(ctx, p, s.Users); err != nil {
		return 0, err
	}
	var users int64
	err := r.each(ctx, p.targets(), func(run runner, name scoreboard.BoardID) *redis.Cmd {
		return run(r.quietSwap, r.keys.both(name), swapArguments(board, name, token, s, 0)...)
	}, func(_ scoreboard.BoardID, n int64) error {
		users += max(n, 0)
		return swapError(n)
	})
	if err != nil {
		return 0, err
	}
	keys := append([]string{r.keys.head(board.ID)}, r.keys.both(board.ID)...)
	n, err := r.begin.Run(ctx, r.rdb, keys, token, s.Epoch, s.UpdatedAt.UnixMicro(), string(board.Order),
		time.Now().UnixMicro(), s.AsOf.UnixMicro(), p.to.count).Int64()
	if err == nil {
		err = swapError(n)
	}
	if err != nil {
		return 0, err
	}
	r.layouts.counts.Store(board.ID, p.to.count)
	if err := r.partitions.mergeHead(ctx, p.to, &merging{}); err != nil {
		return 0, err
	}
	r.leaveFormer(ctx, p, token)
	return users, nil
}

// leaveFormer removes the marks of a rebuild that has replaced the board, and what it
// replaced. If that fails, the marks expire, and RemoveUnused removes the rest.
func (r *rebuilds) leaveFormer(ctx context.Context, p *relayout, token string) {
	_ = r.unmarkLayout(ctx, p, token)
	_ = r.removeUnused(ctx, p.to.board)
}

// countShadows fails where the shadows have lost users of the snapshot.
func (r *rebuilds) countShadows(ctx context.Context, p *relayout, minimum int64) error {
	counts := make([]*redis.IntCmd, 0, p.to.count)
	_, err := r.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, name := range p.targets() {
			counts = append(counts, pipe.HLen(ctx, r.keys.shadow(name)[2]))
		}
		return nil
	})
	if err != nil {
		return err
	}
	var users int64
	for _, n := range counts {
		users += n.Val() - 1 // the seal
	}
	if users < minimum {
		return errShadowShort
	}
	return nil
}

// unlinkParts removes partitions and their shadows.
func (r *rebuilds) unlinkParts(ctx context.Context, l layout) error {
	_, err := r.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, name := range l.parts() {
			pipe.Unlink(ctx, r.keys.both(name)...)
		}
		return nil
	})
	return err
}
