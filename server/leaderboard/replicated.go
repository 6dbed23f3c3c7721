package leaderboard

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Replicated is a replica of a source of reads.
type Replicated[T any] struct {
	// Source returns reads that call the check with the progress of what they answer from. One
	// whose answers say themselves how fresh they are need not.
	Source func(scoreboard.ProgressCheck) T
	State  *Replica
}

// primarySlots is how many calls at a time a node makes to the primary ranking for want of a
// replica: reads that are spread over replicas must not all come to the primary.
const primarySlots = 16

// newEither bounds calls of each of the two by a third of what a read has: a read may call
// the replica, then the primary, then the replica again. slots bounds those of the primary.
func newEither[T any](what string, r *Replicated[T], primary T, budget time.Duration, slots int) either[T] {
	e := either[T]{
		Replicated: *r, primary: primary, replicas: newGuard(what+" of a replica", budget/3),
		main: newGuard(what+" of the primary", budget/3),
	}
	e.main.slots = share.New(slots)
	return e
}

// either reads a replica while it is fresh, else the primary. If the primary does not answer,
// an answer of a replica that is behind is marked as degraded.
type either[T any] struct {
	Replicated[T]
	primary        T
	replicas, main *guard
}

// read calls do with one of the sources. facts are those of the answer, if it has any: each of
// several replicas may have given it.
func (e *either[T]) read(
	ctx context.Context, board scoreboard.BoardID, do func(context.Context, T) error,
	facts func() (asOf time.Time, degraded *string),
) error {
	var behind *string // where to mark that the replica's answer is of a time that is too long ago
	return e.State.read(&reading{
		replica: func(accept scoreboard.ProgressCheck) error {
			var checked time.Time // of what the answer is from; an answer's own time may be older
			source := e.Source(func(p scoreboard.Progress) error {
				checked = p.AsOf
				return accept(p)
			})
			behind = nil
			err := e.replicas.try(ctx, board, func(ctx context.Context) error { return do(ctx, source) })
			if err != nil {
				return err
			}
			asOf, degraded := facts()
			if !checked.IsZero() {
				asOf = checked
			}
			if !e.State.current(asOf) {
				behind = degraded
			}
			return nil
		},
		primary: func() error {
			return e.main.try(ctx, board, func(ctx context.Context) error { return do(ctx, e.primary) })
		},
		answered: func(err error) bool {
			return wire.CodeOf(err) == wire.CodeNotFound || err == nil && behind == nil
		},
		replaceable: func(err error) bool { return wire.CodeOf(err) != wire.CodeNotFound },
		mark: func() {
			if behind != nil {
				MarkBehind(behind)
			}
		},
	})
}

// noFacts are those of an answer that has neither a time nor a mark.
func noFacts() (time.Time, *string) { return time.Time{}, nil }

func factsOfTop(top **scoreboard.Top) func() (time.Time, *string) {
	return func() (time.Time, *string) { return (*top).AsOf, &(*top).Degraded }
}

func factsOfPlace(p **scoreboard.Place) func() (time.Time, *string) {
	return func() (time.Time, *string) { return (*p).AsOf, &(*p).Degraded }
}

func factsOfList(l **scoreboard.List) func() (time.Time, *string) {
	return func() (time.Time, *string) { return (*l).AsOf, &(*l).Degraded }
}

// eitherRanking is a Ranking.
type eitherRanking struct{ either[Ranking] }

func (e *eitherRanking) Top(ctx context.Context, board *scoreboard.Board) (top *scoreboard.Top, err error) {
	err = e.read(ctx, board.ID, func(ctx context.Context, from Ranking) (err error) {
		top, err = from.Top(ctx, board)
		return err
	}, factsOfTop(&top))
	return top, err
}

func (e *eitherRanking) Page(
	ctx context.Context, board *scoreboard.Board, after *scoreboard.Position, limit int,
) (page *scoreboard.Top, err error) {
	err = e.read(ctx, board.ID, func(ctx context.Context, from Ranking) (err error) {
		page, err = from.Page(ctx, board, after, limit)
		return err
	}, factsOfTop(&page))
	return page, err
}

func (e *eitherRanking) Around(
	ctx context.Context, board *scoreboard.Board, at *scoreboard.Position, before, behind int,
) (page *scoreboard.Top, err error) {
	err = e.read(ctx, board.ID, func(ctx context.Context, from Ranking) (err error) {
		page, err = from.Around(ctx, board, at, before, behind)
		return err
	}, factsOfTop(&page))
	return page, err
}

func (e *eitherRanking) Place(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int,
) (p *scoreboard.Place, err error) {
	err = e.read(ctx, board.ID, func(ctx context.Context, from Ranking) (err error) {
		p, err = from.Place(ctx, board, user, k)
		return err
	}, factsOfPlace(&p))
	return p, err
}

func (e *eitherRanking) List(
	ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID,
) (list *scoreboard.List, err error) {
	err = e.read(ctx, board.ID, func(ctx context.Context, from Ranking) (err error) {
		list, err = from.List(ctx, board, users)
		return err
	}, factsOfList(&list))
	return list, err
}

func (e *eitherRanking) Ranks(
	ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID, pairs []*scoreboard.Pair,
) (ranks []*int64, err error) {
	err = e.read(ctx, board.ID, func(ctx context.Context, from Ranking) (err error) {
		ranks, err = from.Ranks(ctx, board, users, pairs)
		return err
	}, noFacts)
	return ranks, err
}

// eitherFallback is a Standings.
type eitherFallback struct{ either[Standings] }

func (e *eitherFallback) Page(
	ctx context.Context, board *scoreboard.Board, after *scoreboard.Position, limit int,
) (page *scoreboard.Top, err error) {
	err = e.read(ctx, board.ID, func(ctx context.Context, from Standings) (err error) {
		page, err = from.Page(ctx, board, after, limit)
		return err
	}, factsOfTop(&page))
	return page, err
}

func (e *eitherFallback) Scores(
	ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID,
) (found []scoreboard.Place, err error) {
	err = e.read(ctx, board.ID, func(ctx context.Context, from Standings) (err error) {
		found, err = from.Scores(ctx, board, users)
		return err
	}, noFacts)
	return found, err
}

func (e *eitherFallback) Place(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int,
) (p *scoreboard.Place, err error) {
	err = e.read(ctx, board.ID, func(ctx context.Context, from Standings) (err error) {
		p, err = from.Place(ctx, board, user, k)
		return err
	}, factsOfPlace(&p))
	return p, err
}

func (e *eitherFallback) List(
	ctx context.Context, board *scoreboard.Board, users []scoreboard.UserID,
) (list *scoreboard.List, err error) {
	err = e.read(ctx, board.ID, func(ctx context.Context, from Standings) (err error) {
		list, err = from.List(ctx, board, users)
		return err
	}, factsOfList(&list))
	return list, err
}

func (e *eitherFallback) RankOf(
	ctx context.Context, board *scoreboard.Board, pair scoreboard.Pair,
) (rank int64, err error) {
	err = e.read(ctx, board.ID, func(ctx context.Context, from Standings) (err error) {
		rank, err = from.RankOf(ctx, board, pair)
		return err
	}, noFacts)
	return rank, err
}

// useReplicas makes the sources of reads from the options.
func (l *Leaderboard) useReplicas() {
	l.ranking, l.fallback, l.truth = l.Ranking, l.Fallback, l.store
	if r := l.RankingReplica; r != nil {
		e := &eitherRanking{newEither("rankings", r, l.Ranking, rankingBudget, primarySlots)}
		l.ranking, l.primary = e, e.main
		l.guards = append(l.guards, e.replicas, e.main)
	}
	if r := l.FallbackReplica; r != nil {
		e := &eitherFallback{newEither[Standings]("the store", r, l.Fallback, storeBudget, storeSlots)}
		l.fallback, l.truth = e, newGuard("the store itself", storeBudget)
		l.truth.slots = share.New(storeSlots)
		l.guards = append(l.guards, e.replicas, e.main, l.truth)
	}
}

// newer returns the later of two tops, so that this node's top does not go back: notices
// come from the primary, and replicas are not equally fresh.
func (l *Leaderboard) newer(before, top *scoreboard.Top) *scoreboard.Top {
	if l.primary == nil || before == nil || top.Epoch == 0 || before.Epoch < top.Epoch ||
		before.Epoch == top.Epoch && before.Version <= top.Version {
		return top
	}
	kept := *before
	kept.Degraded = top.Degraded
	switch current := l.RankingReplica.State.current(kept.AsOf); {
	case !current && kept.Degraded == "":
		kept.Degraded = reasonBehind
	case current && kept.Degraded == reasonBehind:
		kept.Degraded = ""
	}
	return &kept
}

// topOfPrimary returns the top of the primary if it is newer than top, which came from a
// replica or does not have what a caller waits for.
func (l *Leaderboard) topOfPrimary(
	ctx context.Context, board *scoreboard.Board, top *scoreboard.Top,
) *scoreboard.Top {
	if l.primary == nil {
		return top
	}
	b := l.tops.get(board.ID, time.Now())
	before := b.cached.Load()
	next := &cachedTop{at: time.Now(), notices: b.notices.Load()}
	shown := l.Display.Version()
	err := l.primary.try(ctx, board.ID, func(ctx context.Context) (err error) {
		next.top, err = l.Ranking.Top(ctx, board)
		return err
	})
	if err != nil || next.top.Epoch == top.Epoch && next.top.Version <= top.Version {
		return top
	}
	l.Display.Show(ctx, board.ID, next.top.Entries, "")
	next.top.Shown, next.last = shown, next.top
	b.cached.CompareAndSwap(before, next) // fails where a notice was faster
	return l.ShowNow(next.top)
}

// placeOfPrimary returns a user's standing of the primary, nil if there is no replica or the
// primary has none.
func (l *Leaderboard) placeOfPrimary(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int,
) (p *scoreboard.Place) {
	if l.primary == nil || board.Status == scoreboard.StatusArchived {
		return nil
	}
	err := l.primary.try(ctx, board.ID, func(ctx context.Context) (err error) {
		p, err = l.Ranking.Place(ctx, board, user, k)
		return err
	})
	if err != nil {
		return nil
	}
	return p
}
