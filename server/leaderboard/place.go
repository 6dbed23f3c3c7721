package leaderboard

import (
	"context"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// placeKey is a question for a standing. k is 0 where only its absence counts.
type placeKey struct {
	board scoreboard.BoardID
	user  scoreboard.UserID
	k     int
}

// Place returns a user's standing with k neighbours on each side, or a
// not_found. With minVersion it waits up to a second until the user's event of
// that version is in it, and then asks the store.
func (l *Leaderboard) Place(ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int, minVersion int64) (*scoreboard.Place, error) {
	if minVersion > 0 {
		return l.await(ctx, board, user, k, minVersion)
	}
	if p := l.fromHead(board, user, k); p != nil {
		l.heads.helped.Inc()
		return p, nil
	}
	key := placeKey{board.ID, user, k}
	if p, ok := l.places.get(key, l.UserCache); ok {
		l.cached.WithLabelValues("place", "hit").Inc()
		return p, nil
	}
	l.cached.WithLabelValues("place", "miss").Inc()
	shared := l.flight.DoChan("place "+string(board.ID)+" "+string(user)+" "+strconv.Itoa(k), func() (any, error) {
		began := time.Now() // who is hidden from now on may be in it
		p, err := l.place(context.WithoutCancel(ctx), board, user, k)
		if err != nil {
			return nil, err
		}
		l.places.put(key, p, 1+len(p.Neighbours), began)
		return p, nil
	})
	select {
	case answer := <-shared:
		if answer.Err != nil {
			return nil, answer.Err
		}
		return answer.Val.(*scoreboard.Place), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// CachedPlace returns an answer that is at hand, for who asks too often; nil
// where there is none that is fresh enough.
func (l *Leaderboard) CachedPlace(board scoreboard.BoardID, user scoreboard.UserID, k int) *scoreboard.Place {
	p, _ := l.places.get(placeKey{board, user, k}, l.heads.find(board).heldLong())
	return p
}

// ReadPlace reads a user's standing now, past the cache.
func (l *Leaderboard) ReadPlace(ctx context.Context, id scoreboard.BoardID, user scoreboard.UserID) (*scoreboard.Place, error) {
	board, err := l.Catalog.Board(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.place(ctx, board, user, 0)
}

// fromHead places a user from the head of the board that others are shown at
// this moment, so that the two cannot disagree; nil where it does not say.
func (l *Leaderboard) fromHead(board *scoreboard.Board, user scoreboard.UserID, k int) *scoreboard.Place {
	b := l.heads.find(board.ID)
	if b == nil {
		return nil
	}
	top := b.fresh(time.Now())
	if top == nil {
		return nil
	}
	for i := range top.Entries {
		if top.Entries[i].User != user {
			continue
		}
		if i+k >= len(top.Entries) && int64(len(top.Entries)) < top.Total {
			return nil // it has neighbours that the head does not reach
		}
		p := &scoreboard.Place{
			Board: top.Board, User: user, Score: top.Entries[i].Score, Rank: top.Entries[i].Rank, Total: top.Total, Version: top.Version,
			Epoch: top.Epoch, UpdatedAt: top.Reached[i], AsOf: top.AsOf, State: top.State, Degraded: top.Degraded,
		}
		if k > 0 {
			p.Neighbours = top.Entries[max(i-k, 0):min(i+k+1, len(top.Entries))]
		}
		return p
	}
	return nil
}

func (l *Leaderboard) place(ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int) (p *scoreboard.Place, err error) {
	truth := func(ctx context.Context) (err error) {
		p, err = l.Fallback.Place(ctx, board, user, k)
		return err
	}
	reason, err := l.ask(ctx, board, func(ctx context.Context) (err error) {
		p, err = l.Ranking.Place(ctx, board.ID, user, k)
		return err
	}, truth)
	if reason == "" && scoreboard.CodeOf(err) == scoreboard.CodeNotFound {
		// The ranking may only be late: a score that was just acknowledged is
		// in the store.
		nobody := placeKey{board.ID, user, 0}
		if _, known := l.absent.get(nobody, absentFor); known {
			return nil, err
		}
		stored := l.store.try(ctx, truth)
		if scoreboard.CodeOf(stored) == scoreboard.CodeNotFound {
			l.absent.put(nobody, struct{}{}, 1, time.Now())
		}
		if stored != nil {
			return nil, stored
		}
		reason, err = reasonNotYet, nil
	}
	if err != nil {
		return nil, err
	}
	p.Degraded, p.State = reason, stateBy(reason, p.State)
	l.Show(ctx, p.Neighbours)
	return p, nil
}

// When the store is first asked whether the ranking has anything to come.
const storeLook = 200 * time.Millisecond

// await places a user when the event of a version is in.
func (l *Leaderboard) await(ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int, version int64) (*scoreboard.Place, error) {
	began := time.Now()
	var ranked *scoreboard.Place
	for look := firstLook; board.Status != scoreboard.StatusArchived; look = min(2*look, maxWait/10) {
		var p *scoreboard.Place
		err := l.reads.try(ctx, func(ctx context.Context) (err error) {
			p, err = l.Ranking.Place(ctx, board.ID, user, k)
			return err
		})
		if err != nil && scoreboard.CodeOf(err) != scoreboard.CodeNotFound {
			return l.place(ctx, board, user, k)
		}
		if err == nil {
			ranked = p
		}
		if err == nil && p.UserVersion >= version {
			l.Show(ctx, p.Neighbours)
			return p, nil
		}
		waited := time.Since(began)
		if waited+look > maxWait {
			break
		}
		if err == nil && waited > storeLook && waited-look <= storeLook && l.nothingToCome(ctx, board, p, version) {
			l.Show(ctx, p.Neighbours)
			return p, nil
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	l.degraded.Inc()
	var p *scoreboard.Place
	err := l.store.try(ctx, func(ctx context.Context) (err error) {
		p, err = l.Fallback.Place(ctx, board, user, k)
		return err
	})
	reason := reasonNotYet
	if err != nil {
		if ranked == nil || scoreboard.CodeOf(err) == scoreboard.CodeNotFound {
			return nil, err
		}
		p, reason = ranked, reasonTruth
	}
	p.Degraded = reason
	l.Show(ctx, p.Neighbours)
	return p, nil
}

// nothingToCome reports whether the store has the version, and what is ranked is
// its last word all the same: an event that improved nothing is not sent on.
func (l *Leaderboard) nothingToCome(ctx context.Context, board *scoreboard.Board, ranked *scoreboard.Place, version int64) bool {
	var stored *scoreboard.Place
	err := l.store.try(ctx, func(ctx context.Context) (err error) {
		stored, err = l.Fallback.Place(ctx, board, ranked.User, 0)
		return err
	})
	return err == nil && stored.UserVersion >= version && stored.Revision == ranked.Revision
}
