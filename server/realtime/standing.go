package realtime

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// standing is a viewer's own place on a board. In the top it follows from the
// board's state; below, it is read when the user joined, moved or left the top, and
// never because others moved: that would be a read per viewer and change.
type standing struct {
	board *board
	user  scoreboard.UserID
	subs  []*subscription // of the user

	known    bool // rank and pair are set
	rank     int64
	pair     scoreboard.Pair
	version  int64 // the user's, 0 until they moved
	revision int64
	epoch    int64 // of the board's state that rank comes from
	state    int64 // its version

	round  uint64 // of the board, when last in the top
	moved  bool   // in board.moved
	queued bool   // in Hub.rankLookups
	sent   atomic.Pointer[rankState]
	seq    uint64                    // of sent
	tier   atomic.Pointer[tierState] // nil: the board has no tiers, or the standing is not known yet
}

// rankState is the newest change of a standing.
type rankState struct {
	seq      uint64
	view     RankView
	messages messageCache
}

// attach gives sub its viewer's standing, which all connections of the user share.
func (b *board) attach(user scoreboard.UserID, sub *subscription) {
	st := b.users[user]
	if st == nil {
		st = &standing{board: b, user: user}
		if b.users == nil {
			b.users = make(map[scoreboard.UserID]*standing)
			b.inTop = make(map[*standing]struct{})
		}
		b.users[user] = st
		i := slices.IndexFunc(b.latest.Entries, func(e scoreboard.Entry) bool { return e.ID() == user })
		if i >= 0 && b.latest.Degraded == "" {
			st.place(b.latest.Entries[i], b.latest.Epoch, b.latest.Version)
			st.seeTier(b.tiersNow(), b.latest.Total, b.latest.UpdatedAt)
			b.inTop[st] = struct{}{}
		} else if b.latest.Degraded == "" {
			st.enqueue() // so that the first move tells from where
		}
	}
	st.subs = append(st.subs, sub)
	sub.standing = st
	if r := st.sent.Load(); r != nil {
		sub.rankSeq = r.seq
	}
	if t := st.tier.Load(); t != nil {
		sub.tierSeq = t.seq
	}
}

func (b *board) detach(sub *subscription) {
	st := sub.standing
	st.subs = slices.DeleteFunc(st.subs, func(s *subscription) bool { return s == sub })
	if len(st.subs) == 0 {
		delete(b.users, st.user)
		delete(b.inTop, st)
		b.hub.rankLookups.drop(st.user, st)
	}
}

// move records that the user's standing changed and reports whether this is the
// first time in this window.
func (st *standing) move(m scoreboard.Moved) bool {
	if m.Revision < st.revision {
		return false
	}
	st.revision, st.version = m.Revision, m.Version
	if st.moved {
		return false
	}
	st.moved = true
	return true
}

func (st *standing) place(e scoreboard.Entry, epoch, version int64) {
	st.known, st.rank, st.pair = true, e.Rank, e.Pair()
	st.epoch, st.state = epoch, version
}

// subscore is that of the known standing; nil on a board without subscores.
func (st *standing) subscore() *scoreboard.Score {
	if !st.board.latest.Subscores {
		return nil
	}
	return new(st.pair.Subscore)
}

// ahead reports whether the standing comes from a later state than that.
func (st *standing) ahead(epoch, version int64) bool {
	return st.epoch == epoch && st.state > version
}

// refreshStandings has every viewer's place below the top read again, because the
// board was rebuilt: a rebuild moves users without a notice if Redis or the store had
// gone back in time. Then revisions may start over, below those before.
func (b *board) refreshStandings() {
	for _, st := range b.users {
		st.revision = 0
		if !st.moved {
			st.moved = true
			b.moved = append(b.moved, st)
		}
	}
}

// updateRanks updates the viewers' standings from the newest state, sends those
// that changed, and queues look-ups for those that are not in it. It reports
// whether it queued any. It skips a degraded state, which has no reliable ranks.
func (b *board) updateRanks() bool {
	top := b.latest
	if len(b.users) == 0 || top.Degraded != "" {
		return false
	}
	b.round++
	active, tiers := false, b.tiersNow()
	for _, e := range top.Entries {
		st := b.users[e.ID()]
		if st == nil {
			continue
		}
		st.round = b.round
		b.inTop[st] = struct{}{}
		if !st.ahead(top.Epoch, top.Version) {
			active = st.update(e, top.Epoch, top.Version, top.UpdatedAt) || active
			active = st.seeTier(tiers, top.Total, top.UpdatedAt) || active
		}
	}
	for st := range b.inTop {
		if st.round != b.round && !st.ahead(top.Epoch, top.Version) {
			delete(b.inTop, st)
			st.enqueue()
			active = true
		}
	}
	for _, st := range b.moved {
		st.moved = false
		if st.round != b.round && len(st.subs) > 0 {
			st.enqueue()
			active = true
		}
	}
	clear(b.moved)
	b.moved = b.moved[:0]
	return active
}

// update sets the user's place and, if rank, score or subscore changed, sends it to the
// user's connections.
func (st *standing) update(e scoreboard.Entry, epoch, version int64, ts time.Time) bool {
	if st.known && st.rank == e.Rank && st.pair == e.Pair() {
		st.epoch, st.state = epoch, version
		return false
	}
	var previous *int64
	if st.known {
		was := st.rank
		previous = &was
	}
	st.place(e, epoch, version)
	st.seq++
	st.sent.Store(&rankState{seq: st.seq, view: RankView{
		Board: st.board.latest.Board, User: st.user, Score: e.Score, Subscore: st.subscore(), Rank: e.Rank,
		Previous: previous, Version: st.version, Epoch: epoch, TS: scoreboard.WritableTime(ts),
	}})
	for _, sub := range st.subs {
		sub.conn.out.Wake()
	}
	return true
}

// inRows reports whether a rank is that of a row of a whole top, as far as the rank tells: where
// the last row shares one, those of the others who have it are further down.
func inRows(top *scoreboard.Top, rank int64) bool {
	if n := len(top.Entries); n == scoreboard.TopSize {
		if last := top.Entries[n-1].Rank; last < scoreboard.TopSize {
			return rank < last
		}
	}
	return rank <= scoreboard.TopSize
}

func (st *standing) enqueue() {
	if !st.queued {
		st.queued = true
		st.board.hub.rankLookups.add(st.user, st)
	}
}

// resolve applies the result of a look-up: e is the user's row of list, nil for none.
func (st *standing) resolve(list *scoreboard.List, e *scoreboard.Entry, err error) {
	b := st.board
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case len(st.subs) == 0: // detached meanwhile: nobody would take it out of the top again
	case err != nil, list.Degraded != "":
		if !st.moved { // not from a healthy ranking: again with the next state that is published
			st.moved = true
			b.moved = append(b.moved, st)
		}
	case list.Board != b.latest.Board, st.ahead(list.Epoch, list.Version):
		// Of another period, or older than the known place.
	case e == nil:
		st.known = false // users without a score and hidden ones have no rank
		st.leaveTier(b.tiersNow())
	default:
		row := scoreboard.Entry{Rank: e.Rank, User: st.user, Score: e.Score, Subscore: e.Subscore}
		if !st.known && st.revision == 0 { // the user has joined, and has not moved
			st.place(row, list.Epoch, list.Version)
		} else {
			st.update(row, list.Epoch, list.Version, list.AsOf)
		}
		st.seeTier(b.tiersNow(), list.Total, list.AsOf)
		if inRows(b.latest, e.Rank) {
			b.inTop[st] = struct{}{}
		}
	}
}
