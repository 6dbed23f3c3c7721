package realtime

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// standing is a watching user's own place on a board. In the top it follows
// from the board's state, whoever moved; below, it is read when the user moved
// or was pushed out of the top, and never because others moved: that would be
// a read for every watcher at every change.
type standing struct {
	board *board
	user  scoreboard.UserID
	subs  []*subscription // the user's own

	known    bool // rank and score are
	rank     int64
	score    scoreboard.Score
	version  int64 // the user's, 0 until they moved
	revision int64
	epoch    int64 // of the board's state that rank comes from
	state    int64 // and its version

	round  uint64 // of the board, when last seen in the top
	moved  bool   // is in board.moved
	asked  bool   // is in the look-ups
	sent   atomic.Pointer[rankState]
	rankAt uint64
}

// rankState is the newest user.rank.updated of a standing.
type rankState struct {
	seq   uint64
	frame *frame
}

// seat gives sub its viewer's standing, shared by all connections of the user.
func (b *board) seat(user scoreboard.UserID, sub *subscription) {
	st := b.users[user]
	if st == nil {
		st = &standing{board: b, user: user}
		if b.users == nil {
			b.users = make(map[scoreboard.UserID]*standing)
			b.shown = make(map[*standing]struct{})
		}
		b.users[user] = st
		i := slices.IndexFunc(b.latest.Entries, func(e scoreboard.Entry) bool { return e.User == user })
		if i >= 0 && b.latest.Degraded == "" {
			st.place(b.latest.Entries[i], b.latest.Epoch, b.latest.Version)
			b.shown[st] = struct{}{}
		}
	}
	st.subs = append(st.subs, sub)
	sub.standing = st
	if r := st.sent.Load(); r != nil {
		sub.rankSeq = r.seq
	}
}

func (b *board) unseat(sub *subscription) {
	st := sub.standing
	st.subs = slices.DeleteFunc(st.subs, func(s *subscription) bool { return s == sub })
	if len(st.subs) == 0 {
		delete(b.users, st.user)
		delete(b.shown, st)
	}
}

// move notes that the user's standing changed and reports whether that is news
// to this window.
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
	st.known, st.rank, st.score = true, e.Rank, e.Score
	st.epoch, st.state = epoch, version
}

// ahead reports whether the standing is known from a later state than that.
func (st *standing) ahead(epoch, version int64) bool {
	return st.epoch == epoch && st.state > version
}

// rerank brings the standings of watching users to the newest state, tells
// them, and asks for those that it does not hold. It reports whether any of it
// was needed. A degraded state says nothing of ranks; they wait for the ranking.
func (b *board) rerank() bool {
	top := b.latest
	if len(b.users) == 0 || top.Degraded != "" {
		return false
	}
	b.round++
	going := false
	for _, e := range top.Entries {
		st := b.users[e.User]
		if st == nil {
			continue
		}
		st.round = b.round
		b.shown[st] = struct{}{}
		if !st.ahead(top.Epoch, top.Version) && st.tell(e, top.Epoch, top.Version, top.UpdatedAt) {
			going = true
		}
	}
	for st := range b.shown {
		if st.round != b.round && !st.ahead(top.Epoch, top.Version) {
			delete(b.shown, st)
			b.hub.lookups.ask(st)
			going = true
		}
	}
	for _, st := range b.moved {
		st.moved = false
		if st.round != b.round && len(st.subs) > 0 {
			b.hub.lookups.ask(st)
			going = true
		}
	}
	clear(b.moved)
	b.moved = b.moved[:0]
	return going
}

// tell places the user and, if rank or score are others now, sends it to the
// user's connections.
func (st *standing) tell(e scoreboard.Entry, epoch, version int64, ts time.Time) bool {
	if st.known && st.rank == e.Rank && st.score == e.Score {
		st.epoch, st.state = epoch, version
		return false
	}
	var previous *int64
	if st.known {
		was := st.rank
		previous = &was
	}
	st.place(e, epoch, version)
	st.rankAt++
	st.sent.Store(&rankState{seq: st.rankAt, frame: newFrame(protocol.FrameRank, rankFrame{
		Type: protocol.FrameRank, Board: string(st.board.latest.Board), UserID: string(st.user),
		Score: int64(e.Score), Rank: e.Rank, PreviousRank: previous,
		Version: st.version, Epoch: epoch, TS: ts.UTC(),
	})})
	for _, sub := range st.subs {
		sub.conn.out.wake()
	}
	return true
}

// answer takes in a look-up.
func (st *standing) answer(p *scoreboard.Place, err error) {
	b := st.board
	b.mu.Lock()
	defer b.mu.Unlock()
	st.asked = false
	switch {
	case scoreboard.CodeOf(err) == scoreboard.CodeNotFound:
		st.known = false // gone from the board; whoever hides has no rank
	case err != nil, p.Degraded != "", p.Board != b.latest.Board, st.ahead(p.Epoch, p.Version):
		// Not from a healthy ranking, or older than what is known.
	default:
		st.tell(scoreboard.Entry{Rank: p.Rank, User: st.user, Score: p.Score}, p.Epoch, p.Version, p.UpdatedAt)
		if p.Rank <= scoreboard.TopSize {
			b.shown[st] = struct{}{}
		}
	}
}
