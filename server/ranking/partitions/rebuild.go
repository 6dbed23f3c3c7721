package partitions

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Relayout is a rebuild of a board that is, or will be, in partitions. Its claim is the
// shadow of the board itself; the partitions have shadows of their own, with the same token.
//
// If the live board has another layout, a process that changes one of its pieces is told to
// change the shadows first (apply.lua). These claims are renewed after the shadows', so that
// they expire last: what can be swapped in has every change since it was claimed.
type Relayout struct {
	To   piece.Layout // of one partition: in one piece
	live []scoreboard.BoardID
}

// targets names the pieces that will be live.
func (p *Relayout) targets() []scoreboard.BoardID {
	if p.To.Count > 1 {
		return p.To.Parts()
	}
	return []scoreboard.BoardID{p.To.Board}
}

// Piece returns the piece that a user will be in.
func (p *Relayout) Piece(user scoreboard.UserID) scoreboard.BoardID {
	if p.To.Count > 1 {
		return p.To.Part(p.To.Of(user))
	}
	return p.To.Board
}

// shadows names the shadows that the board cannot be replaced without: the targets', and that
// of the board.
func (p *Relayout) shadows() []scoreboard.BoardID {
	shadows := p.targets()
	if p.To.Count > 1 {
		shadows = append(shadows, p.To.Board)
	}
	return shadows
}

// claims names the live pieces that have a claim beside those.
func (p *Relayout) claims() []scoreboard.BoardID {
	return slices.DeleteFunc(slices.Clone(p.live), func(name scoreboard.BoardID) bool { return name == p.To.Board })
}

// rebuildKey identifies a rebuild in this process.
type rebuildKey struct {
	board scoreboard.BoardID
	token string
}

// Rebuilds replaces boards that are, or will be, in partitions.
type Rebuilds struct {
	*piece.Conn
	layouts                        *Layouts
	partitions                     *Boards
	shadows                        piece.ShadowScripts
	Begin, reserve, redirect, join *redis.Script
	quietSwap                      *redis.Script
	DiscardPart, ForgetLayout      *redis.Script
	relayouts                      sync.Map // by rebuildKey: the rebuilds of this process
}

// NewRebuilds merges tops by parts.
func NewRebuilds(c *piece.Conn, of *Layouts, parts *Boards, shadows piece.ShadowScripts) *Rebuilds {
	put := piece.LuaWidth + piece.LuaPut
	return &Rebuilds{
		Conn: c, layouts: of, partitions: parts, shadows: shadows,
		Begin:        redis.NewScript(luaDivide + luaBegin),
		reserve:      redis.NewScript(luaDivide + luaReserve),
		redirect:     redis.NewScript(piece.LuaStamp + luaRedirect),
		join:         redis.NewScript(put + piece.LuaCounts + piece.LuaStamp + luaJoin + piece.LuaSwap),
		quietSwap:    redis.NewScript(put + piece.LuaQuiet + piece.LuaCounts + piece.LuaStamp + piece.LuaSwap),
		DiscardPart:  redis.NewScript(luaDiscard),
		ForgetLayout: redis.NewScript(luaForget),
	}
}

// Rebuilding returns what a rebuild is about, nil for one of a board that is and stays in
// one piece.
func (r *Rebuilds) Rebuilding(board scoreboard.BoardID, token string) *Relayout {
	p, ok := r.relayouts.Load(rebuildKey{board, token})
	if !ok {
		return nil
	}
	return p.(*Relayout)
}

// ClaimLayout claims what a rebuild needs beside the shadow of the board, which is claimed.
// False: another rebuild has claimed some of it.
func (r *Rebuilds) ClaimLayout(ctx context.Context, b *scoreboard.Board, token string) (bool, error) {
	p := &Relayout{To: piece.Layout{Board: b.ID, Count: max(b.Partitions, 1)}}
	now, divided, err := r.layouts.Learn(ctx, b.ID)
	if err != nil {
		return false, err
	}
	if !divided && p.To.Count == 1 {
		return true, nil
	}
	if err := r.recordLayouts(ctx, token, p.To, now); err != nil {
		return false, err
	}
	switch {
	case divided && now == p.To:
	case divided:
		p.live = now.Parts()
	default:
		if loaded, err := r.reserve.Run(ctx, r.Redis, r.Keys.Live(b.ID), p.To.Count).Int64(); err != nil {
			return false, err
		} else if loaded == 0 {
			p.live = []scoreboard.BoardID{b.ID}
		}
	}
	r.relayouts.Store(rebuildKey{b.ID, token}, p)
	claimed := true
	names := p.targets()
	if p.To.Count == 1 {
		names = nil // it is the shadow of the board
	}
	if err := r.Each(ctx, append(names, p.claims()...), func(run piece.Runner, name scoreboard.BoardID) *redis.Cmd {
		return run(r.shadows.Claim, r.Keys.Shadow(name), token, piece.ClaimTTL.Milliseconds(),
			piece.OrdersOf(b).String())
	}, func(_ scoreboard.BoardID, n int64) error {
		claimed = claimed && n == 1
		return nil
	}); err != nil || !claimed {
		return false, err
	}
	err = r.Each(ctx, p.live, func(run piece.Runner, name scoreboard.BoardID) *redis.Cmd {
		return run(r.redirect, r.Keys.Shadow(name), token, p.To.Count)
	}, ownClaim)
	return err == nil, err
}

// ownClaim is for scripts that return 0 or less where a claim is not the caller's.
func ownClaim(_ scoreboard.BoardID, n int64) error {
	if n <= 0 {
		return piece.ErrClaimLost
	}
	return nil
}

// FillLayout renews the shadows and writes changes to them, then renews the claims.
func (r *Rebuilds) FillLayout(ctx context.Context, p *Relayout, token string, changes []scoreboard.Change) error {
	fill := func(run piece.Runner, name scoreboard.BoardID, args ...any) *redis.Cmd {
		return run(r.shadows.Fill, r.Keys.Shadow(name), append([]any{token, piece.ClaimTTL.Milliseconds()}, args...)...)
	}
	owned := func(_ scoreboard.BoardID, n int64) error {
		if n < 0 {
			return piece.ErrClaimLost
		}
		return nil
	}
	args := make(map[scoreboard.BoardID][]any, p.To.Count)
	for i := range changes {
		name := p.Piece(changes[i].User)
		args[name] = piece.AppendChange(args[name], &changes[i])
	}
	if err := r.Each(ctx, p.shadows(), func(run piece.Runner, name scoreboard.BoardID) *redis.Cmd {
		return fill(run, name, args[name]...)
	}, owned); err != nil {
		return err
	}
	return r.Each(ctx, p.claims(), func(run piece.Runner, name scoreboard.BoardID) *redis.Cmd {
		return fill(run, name)
	}, owned)
}

// FenceLayout fences the claims of live pieces, then the shadows.
func (r *Rebuilds) FenceLayout(ctx context.Context, p *Relayout, token string, since time.Time) error {
	fence := func(run piece.Runner, name scoreboard.BoardID) *redis.Cmd {
		return run(r.shadows.Fence, r.Keys.Shadow(name), token, since.UnixMicro())
	}
	if err := r.Each(ctx, p.claims(), fence, ownClaim); err != nil {
		return err
	}
	return r.Each(ctx, p.shadows(), fence, ownClaim)
}

// ReleaseLayout removes the claims, then the shadows.
func (r *Rebuilds) ReleaseLayout(ctx context.Context, p *Relayout, token string) error {
	r.relayouts.Delete(rebuildKey{p.To.Board, token})
	release := func(run piece.Runner, name scoreboard.BoardID) *redis.Cmd {
		return run(r.shadows.Release, r.Keys.Shadow(name), token)
	}
	ignore := func(scoreboard.BoardID, int64) error { return nil }
	return errors.Join(r.Each(ctx, p.claims(), release, ignore), r.Each(ctx, p.shadows(), release, ignore))
}

// SwapLayout replaces the live board by the shadows.
func (r *Rebuilds) SwapLayout(
	ctx context.Context, p *Relayout, board *scoreboard.Board, token string, s *scoreboard.Snapshot,
) (int64, error) {
	if err := r.FillLayout(ctx, p, token, nil); err != nil {
		return 0, err
	}
	if p.To.Count == 1 {
		users, err := piece.Swapped(r.join.Run(ctx, r.Redis, append(r.Keys.Both(board.ID), r.Keys.Top(board.ID)),
			piece.SwapArguments(board, board.ID, token, s, s.Users)...))
		if err != nil {
			return 0, err
		}
		r.layouts.Counts.Delete(board.ID)
		r.leaveFormer(ctx, p, token)
		return users, nil
	}
	if err := r.countShadows(ctx, p, s.Users); err != nil {
		return 0, err
	}
	var users int64
	err := r.Each(ctx, p.targets(), func(run piece.Runner, name scoreboard.BoardID) *redis.Cmd {
		return run(r.quietSwap, r.Keys.Both(name), piece.SwapArguments(board, name, token, s, 0)...)
	}, func(_ scoreboard.BoardID, n int64) error {
		users += max(n, 0)
		return piece.SwapError(n)
	})
	if err != nil {
		return 0, err
	}
	keys := append([]string{r.Keys.Top(board.ID)}, r.Keys.Both(board.ID)...)
	n, err := r.Begin.Run(ctx, r.Redis, keys, token, s.Epoch, s.UpdatedAt.UnixMicro(), piece.OrdersOf(board).String(),
		time.Now().UnixMicro(), s.AsOf.UnixMicro(), p.To.Count).Int64()
	if err == nil {
		err = piece.SwapError(n)
	}
	if err != nil {
		return 0, err
	}
	r.layouts.Counts.Store(board.ID, p.To.Count)
	if err := r.partitions.MergeTop(ctx, p.To, &Merging{}); err != nil {
		return 0, err
	}
	r.leaveFormer(ctx, p, token)
	return users, nil
}

// leaveFormer removes the claims of a rebuild that has replaced the board, and what it
// replaced. If that fails, the claims expire, and RemoveUnused removes the rest.
func (r *Rebuilds) leaveFormer(ctx context.Context, p *Relayout, token string) {
	_ = r.ReleaseLayout(ctx, p, token)
	_ = r.RemoveUnusedOf(ctx, p.To.Board)
}

// countShadows fails where the shadows have lost users of the snapshot.
func (r *Rebuilds) countShadows(ctx context.Context, p *Relayout, minimum int64) error {
	counts := make([]*redis.IntCmd, 0, p.To.Count)
	_, err := r.Redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, name := range p.targets() {
			counts = append(counts, pipe.HLen(ctx, r.Keys.Shadow(name)[2]))
		}
		return nil
	})
	if err != nil {
		return err
	}
	var users int64
	for _, n := range counts {
		users += n.Val() - 1 // the stamp
	}
	if users < minimum {
		return piece.ErrShadowShort
	}
	return nil
}

// UnlinkParts removes partitions and their shadows.
func (r *Rebuilds) UnlinkParts(ctx context.Context, l piece.Layout) error {
	_, err := r.Redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, name := range l.Parts() {
			pipe.Unlink(ctx, r.Keys.Both(name)...)
		}
		return nil
	})
	return err
}
