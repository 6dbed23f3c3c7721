package history

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// History returns a user's score and rank at times, which rise; Place answers the same at each
// of them. The events between a time and its checkpoint count toward one bound for all times.
// Only Now and Masked of at matter.
func (m *PastBoards) History(
	ctx context.Context, board *scoreboard.Board, at scoreboard.PastTime, user scoreboard.UserID, times []time.Time,
) ([]scoreboard.RankPoint, error) {
	at.At = times[len(times)-1]
	points := make([]scoreboard.RankPoint, 0, len(times))
	err := m.inSnapshot(ctx, board, at.At, true, func(ctx context.Context, tx pgx.Tx) error {
		past := &series{tx: tx, board: board, at: at, budget: m.maxEvents}
		spans, err := past.spans(ctx, times)
		if err == nil {
			err = past.load(ctx)
		}
		for i := 0; err == nil && i < len(spans); i++ {
			var some []scoreboard.RankPoint
			some, err = past.points(ctx, user, spans[i])
			points = append(points, some...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(points, func(p scoreboard.RankPoint) bool { return p.Rank > 0 }) {
		return nil, scoreboard.Errorf(wire.CodeNotFound, "user %s had no rank on board %s at any of these times", user,
			board.ID)
	}
	return points, nil
}

// rankSweep finds the ranks of one user during a sweep. They need no positions of others, only how
// many are ahead of each position that the user has at one of the times.
type rankSweep struct {
	*sweep
	user  scoreboard.UserID
	own   []scoreboard.Position // that decide the user's rank at one of the times, in order
	base  []int64               // standings of the checkpoint ahead of each
	ahead []int64               // by the first own position that they are ahead of: what to add to base
}

// points returns the points of a user at times that are read from one checkpoint.
func (a *series) points(
	ctx context.Context, user scoreboard.UserID, times []time.Time,
) ([]scoreboard.RankPoint, error) {
	s, err := a.newSweep(ctx, times)
	if err != nil {
		return nil, err
	}
	r := &rankSweep{sweep: s, user: user}
	s.tally = r.tally
	found, err := s.beginKnown(ctx, user)
	if err == nil {
		err = r.rankOwn(ctx)
	}
	if err != nil {
		return nil, err
	}
	for _, p := range found {
		s.add(&p, -1)
	}
	if err := r.placeOthers(ctx); err != nil {
		return nil, err
	}
	for u, m := range s.movers {
		if s.shown(u, m) {
			s.add(&m.Position, 1)
		}
	}
	points := make([]scoreboard.RankPoint, len(times))
	s.play(func(i int, _ bool) { points[i] = r.point(times[i]) })
	return points, nil
}

// rankOwn finds the positions that the user has at the times, and what of the checkpoint is
// ahead of them.
func (r *rankSweep) rankOwn(ctx context.Context) error {
	me := *r.movers[r.user]
	next := 0
	for i := range r.times {
		for ; next < len(r.moves) && r.moves[next].step == i; next++ {
			if mv := &r.moves[next]; mv.user == r.user {
				me.apply(mv)
			}
		}
		if me.exists {
			r.own = append(r.own, r.series.board.RankedAt(me.Position))
		}
	}
	slices.SortFunc(r.own, func(p, q scoreboard.Position) int { return p.Compare(&q) })
	r.own = slices.CompactFunc(r.own, func(p, q scoreboard.Position) bool { return p.Compare(&q) == 0 })
	r.base, r.ahead = make([]int64, len(r.own)), make([]int64, len(r.own)+1)
	for i := range r.own {
		var err error
		if r.base[i], err = r.loader.view.ahead(ctx, &r.own[i]); err != nil {
			return err
		}
	}
	return nil
}

// placeOthers takes the users who move out of the checkpoint, but for those who are already.
func (r *rankSweep) placeOthers(ctx context.Context) error {
	var tied []scoreboard.UserID // whose times decide
	for _, m := range r.beginOthers() {
		at := keysOf(&m.Position)
		i := sort.Search(len(r.own), func(i int) bool { return keysOf(&r.own[i]).compare(at) >= 0 })
		if i < len(r.own) && keysOf(&r.own[i]) == at {
			tied = append(tied, m.User)
		} else {
			r.add(&m.Position, -1)
		}
	}
	found, err := r.find(ctx, tied)
	if err != nil {
		return err
	}
	for _, u := range tied {
		p, ok := found[u]
		if !ok {
			return fmt.Errorf("%w: %s is not in it", errBlock, u)
		}
		r.movers[u].Position = p
		r.add(&p, -1)
	}
	return nil
}

func (r *rankSweep) tally(p *scoreboard.Position, n int64) {
	r.ahead[sort.Search(len(r.own), func(i int) bool { return p.Compare(&r.own[i]) < 0 })] += n
}

// point is the user's standing after the changes up to a time.
func (r *rankSweep) point(at time.Time) scoreboard.RankPoint {
	me := r.movers[r.user]
	point := scoreboard.RankPoint{At: at, Total: r.count}
	if !r.shown(r.user, me) {
		return point
	}
	ranked := r.series.board.RankedAt(me.Position)
	i := sort.Search(len(r.own), func(i int) bool { return r.own[i].Compare(&ranked) >= 0 })
	pair := r.series.board.Pair(me.Key, me.SubKey)
	point.Score, point.Subscore, point.Rank = pair.Score, pair.Subscore, 1+r.base[i]
	for _, n := range r.ahead[:i+1] {
		point.Rank += n
	}
	return point
}
