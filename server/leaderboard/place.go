package leaderboard

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// placeKey identifies a standing with k neighbours; k is 0 in the cache of absent users.
type placeKey struct {
	board scoreboard.BoardID
	user  scoreboard.UserID
	k     int
}

// Place returns a user's standing with k neighbours on each side, or a
// not_found. With minVersion it waits up to a second until the standing includes
// the user's event of that version, and then reads the store.
func (l *Leaderboard) Place(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int, minVersion int64,
) (*scoreboard.Place, error) {
	if minVersion > 0 {
		return l.await(ctx, board, user, k, minVersion)
	}
	if p := l.fromTop(board, user, k); p != nil {
		l.tops.placed.Inc()
		return placeNow(l.Display, p), nil
	}
	key := placeKey{board.ID, user, k}
	if p, ok := l.places.get(key, l.UserCache); ok {
		l.cached.WithLabelValues("place", "hit").Inc()
		return placeNow(l.Display, p), nil
	}
	l.cached.WithLabelValues("place", "miss").Inc()
	shared := l.flight.DoChan("place "+string(board.ID)+" "+string(user)+" "+strconv.Itoa(k), func() (any, error) {
		began := time.Now() // a user hidden from now on may be in the answer
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
		return placeNow(l.Display, answer.Val.(*scoreboard.Place)), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// CachedPlace returns a cached answer, for clients over their limit; nil if none
// is recent enough.
func (l *Leaderboard) CachedPlace(board scoreboard.BoardID, user scoreboard.UserID, k int) *scoreboard.Place {
	p, _ := l.places.get(placeKey{board, user, k}, l.tops.find(board).maxStale())
	return placeNow(l.Display, p)
}

// ReadPlaces reads the standings of users now, past the cache, all at one version and without
// those of private users.
func (l *Leaderboard) ReadPlaces(
	ctx context.Context, id scoreboard.BoardID, users []scoreboard.UserID,
) (*scoreboard.List, error) {
	board, err := l.Catalog.Board(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.list(ctx, board, slices.DeleteFunc(slices.Clone(users), l.private))
}

// HasStanding reads from the store whether a user is on a board. A board that does not
// exist takes as long as any other.
func (l *Leaderboard) HasStanding(
	ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID,
) (has bool, err error) {
	err = l.truth.try(ctx, board, func(ctx context.Context) (err error) {
		has, err = l.Fallback.HasStanding(ctx, board, user)
		return err
	})
	return has, err
}

// fromTop places a user from the cached top that other clients get at this
// moment, so that the two agree; nil if the user is not in it.
func (l *Leaderboard) fromTop(board *scoreboard.Board, user scoreboard.UserID, k int) *scoreboard.Place {
	b := l.tops.find(board.ID)
	if b == nil {
		return nil
	}
	top := b.fresh(time.Now())
	if top == nil {
		return nil
	}
	for i := range top.Entries {
		if top.Entries[i].ID() != user {
			continue
		}
		if k > 0 && top.Entries[i].Hidden() {
			return nil // among their neighbours, users see themselves
		}
		if i+k >= len(top.Entries) && int64(len(top.Entries)) < top.Total {
			return nil // some neighbours are below the top
		}
		p := &scoreboard.Place{
			Board:     top.Board,
			User:      user,
			Shown:     top.Shown,
			Score:     top.Entries[i].Score,
			Subscore:  top.Entries[i].Subscore,
			Rank:      top.Entries[i].Rank,
			Total:     top.Total,
			Version:   top.Version,
			Epoch:     top.Epoch,
			UpdatedAt: top.Reached[i],
			AsOf:      top.AsOf,
			State:     top.State,
			Degraded:  top.Degraded,
		}
		if k > 0 {
			p.Neighbours = top.Entries[max(i-k, 0):min(i+k+1, len(top.Entries))]
		}
		return p
	}
	return nil
}

// private reports whether a user is on no board. The store alone has the score.
func (l *Leaderboard) private(user scoreboard.UserID) bool {
	return l.Display.Visibility(user) == scoreboard.VisibilityPrivate
}

// stored returns the standing of a user's score in the store itself, never in a replica. ranked is
// an older one, of the ranking.
func (l *Leaderboard) stored(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, ranked *scoreboard.Place, k int,
) (*scoreboard.Place, error) {
	score, err := scoreOf(ctx, l.Fallback, l.truth, board, user)
	if err != nil {
		return nil, err
	}
	if score == nil {
		return nil, errNoScore(board.ID, user)
	}
	return l.standing(ctx, l.Fallback, l.truth, board, score, ranked, k)
}

func errNoScore(board scoreboard.BoardID, user scoreboard.UserID) error {
	return scoreboard.Errorf(wire.CodeNotFound, "user %s has no score on board %s", user, board)
}

func (l *Leaderboard) place(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int,
) (p *scoreboard.Place, err error) {
	shown := l.Display.Version()
	fallback := func(ctx context.Context) (err error) {
		p, err = l.fallback.Place(ctx, board, user, k)
		return err
	}
	if l.private(user) {
		if p, err := l.privatePlace(ctx, l.fallback, l.store, board, user, k); p != nil || err != nil {
			return l.showPlace(ctx, p, shown), err
		}
	}
	reason, err := l.withFallback(ctx, board, func(ctx context.Context) (err error) {
		p, err = l.ranking.Place(ctx, board, user, k)
		return err
	}, fallback)
	if reason == "" && wire.CodeOf(err) == wire.CodeNotFound {
		// The ranking may lag: a score that was just recorded is in the store.
		key := placeKey{board.ID, user, 0}
		if _, known := l.absent.get(key, absentTTL); known {
			return nil, err
		}
		found, stored := scoreOf(ctx, l.Fallback, l.truth, board, user)
		if stored != nil {
			return nil, stored
		}
		if found == nil {
			l.absent.put(key, struct{}{}, 1, time.Now())
			return nil, err
		}
		p, err = l.standing(ctx, l.Fallback, l.truth, board, found, nil, k)
		if !found.Private {
			reason = reasonNotYet
		}
	}
	if err != nil {
		return nil, err
	}
	mark(reason, &p.Degraded, &p.State)
	return l.showPlace(ctx, p, shown), nil
}

// privatePlace returns the standing that a private user would have: the score is the store's alone, and
// is counted in the ranking, if that answers. It is nil for a user who is not private any more.
func (l *Leaderboard) privatePlace(
	ctx context.Context, from Standings, of *guard, board *scoreboard.Board, user scoreboard.UserID, k int,
) (p *scoreboard.Place, err error) {
	score, err := scoreOf(ctx, from, of, board, user)
	switch {
	case err != nil:
		return nil, err
	case score == nil:
		return nil, errNoScore(board.ID, user)
	case !score.Private:
		return nil, nil //nolint:nilnil // then the ranking has the user
	}
	return l.standing(ctx, from, of, board, score, nil, k)
}

// showPlace shows the neighbours in a standing that was read when shown was the version of who
// is hidden.
func (l *Leaderboard) showPlace(ctx context.Context, p *scoreboard.Place, shown uint64) *scoreboard.Place {
	if p == nil {
		return nil
	}
	if p.Neighbours != nil {
		l.Display.Show(ctx, p.Board, p.Neighbours, p.User)
	}
	p.Shown = shown
	return placeNow(l.Display, p)
}

// storeCheckAfter is when a waiting caller checks whether the store has a change
// that the ranking lacks.
const storeCheckAfter = 200 * time.Millisecond

// await places a user once the standing includes the event of a version.
func (l *Leaderboard) await(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID, k int, version int64,
) (*scoreboard.Place, error) {
	began, shown := time.Now(), l.Display.Version()
	if l.private(user) { // only the store itself has every version
		if p, err := l.privatePlace(ctx, l.Fallback, l.truth, board, user, k); p != nil || err != nil {
			return l.showPlace(ctx, p, shown), err
		}
	}
	var ranked *scoreboard.Place
	for poll := firstPoll; board.Status != scoreboard.StatusArchived; poll = min(2*poll, maxWait/10) {
		var p *scoreboard.Place
		err := l.reads.try(ctx, board.ID, func(ctx context.Context) (err error) {
			p, err = l.ranking.Place(ctx, board, user, k)
			return err
		})
		if err != nil && wire.CodeOf(err) != wire.CodeNotFound {
			p, err := l.place(ctx, board, user, k)
			if err != nil || p.UserVersion >= version {
				return p, err
			}
			ranked = p // the ranking is back, and behind: only the store has the version
			break
		}
		if err == nil {
			ranked = p
		}
		if err == nil && p.UserVersion >= version {
			return l.showPlace(ctx, p, shown), nil
		}
		waited := time.Since(began)
		if waited+poll > maxWait {
			break
		}
		if err == nil && waited > storeCheckAfter && waited-poll <= storeCheckAfter &&
			l.upToDate(ctx, board, p, version) {
			return l.showPlace(ctx, p, shown), nil
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if p := l.placeOfPrimary(ctx, board, user, k); p != nil {
		if ranked = p; p.UserVersion >= version {
			return l.showPlace(ctx, p, shown), nil
		}
	}
	l.degraded.Inc()
	p, err := l.stored(ctx, board, user, ranked, k)
	reason := reasonNotYet
	if err != nil {
		if ranked == nil || wire.CodeOf(err) == wire.CodeNotFound {
			return nil, err
		}
		p, reason = ranked, reasonStoreDown
	}
	p.Degraded = reason
	return l.showPlace(ctx, p, shown), nil
}

// upToDate reports whether the store has the version without a newer revision: an
// event that improves nothing is not relayed to the ranking.
func (l *Leaderboard) upToDate(
	ctx context.Context, board *scoreboard.Board, ranked *scoreboard.Place, version int64,
) bool {
	stored, err := scoreOf(ctx, l.Fallback, l.truth, board, ranked.User)
	return err == nil && stored != nil && stored.UserVersion >= version && stored.Revision == ranked.Revision
}
