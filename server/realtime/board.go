package realtime

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// board is one board as this node knows it: the newest state heard of, and the
// one that is shown. Its id is what clients ask for; for a family, latest.Board
// is the instance that stands for it now.
type board struct {
	id    scoreboard.BoardID
	hub   *Hub
	ready chan struct{} // closed when the first read is done
	err   error         // of the first read; set before ready is closed

	published [shapes]atomic.Pointer[state]

	due    time.Time // no publishing before it; the loop's own
	listed bool      // is in the hub's list of changed boards, guarded by it

	mu     sync.Mutex
	latest *scoreboard.Top
	heard  time.Time // when a whole state was last heard of
	lower  int       // reads in a row that said a lower epoch
	subs   []*subscription
	left   time.Time // when the last subscriber did
	users  map[scoreboard.UserID]*standing
	shown  map[*standing]struct{} // of users, those known to be in the top
	moved  []*standing            // of users, those who moved since the last window
	round  uint64
}

// notice takes in what the bus said and reports whether the loop must look.
func (b *board) notice(n *scoreboard.Notice, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.latest == nil || b.latest.Board != n.Board {
		return false
	}
	changed := false
	if n.Top != nil {
		b.heard = now
		changed = b.accept(n.Top, false)
	}
	for _, m := range n.Moved {
		if st := b.users[m.User]; st != nil && st.move(m) {
			b.moved = append(b.moved, st)
			changed = true
		}
	}
	return changed
}

// learn takes in a read and reports whether the loop must look, and the
// instance before where it is another now.
func (b *board) learn(top *scoreboard.Top, now time.Time) (changed bool, before scoreboard.BoardID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard = now
	if b.latest != nil && b.latest.Board != top.Board {
		before = b.latest.Board
	}
	return b.accept(top, true), before
}

// cloud marks the last state as degraded when it could not be read at all.
func (b *board) cloud(reason string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.latest == nil || b.latest.Degraded == reason {
		return false
	}
	t := *b.latest
	t.Degraded = reason
	b.latest = &t
	return true
}

// accept makes top the newest state if it is newer. A degraded one keeps the
// last epoch and version. Notices of an old epoch arrive late after a rebuild;
// when two reads in a row say a lower one, the epochs themselves went back (a
// restored database) and are believed.
func (b *board) accept(top *scoreboard.Top, read bool) bool {
	cur := b.latest
	switch {
	case cur == nil:
	case cur.Board != top.Board:
		// Another instance of the family, which only a read can say.
	case top.Degraded != "":
		t := *top
		t.Epoch, t.Version = cur.Epoch, cur.Version
		top = &t
	case top.Epoch == cur.Epoch:
		b.lower = 0
		if top.Version < cur.Version || top.Version == cur.Version && cur.Degraded == "" {
			return false
		}
	case top.Epoch < cur.Epoch:
		if !read {
			return false
		}
		if b.lower++; b.lower < 2 {
			return false
		}
	}
	b.lower = 0
	b.latest = top
	return true
}

// publish shows the newest state and wakes who must be told. It reports whether
// anything was set going, that is, whether a window opens.
func (b *board) publish(window time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	var changed [shapes]bool
	for s := range shapes {
		changed[s] = b.show(s, window)
	}
	going := b.rerank()
	for _, sub := range b.subs {
		if changed[sub.shape] {
			sub.conn.out.wake()
			going = true
		}
	}
	return going
}

// show replaces the published state of a shape if its rows, or what is said of
// them, are others now.
func (b *board) show(s shape, window time.Duration) bool {
	next := b.state(s, window)
	if p := b.published[s].Load(); p != nil {
		if !next.shows(p) {
			return false
		}
		next.seq, next.before = p.seq+1, p.rows
	}
	b.published[s].Store(next)
	return true
}

// relabel lets a state that still holds carry the newest version, so that a
// client who comes from a node that showed the later one is not sent back.
func (b *board) relabel(s shape) {
	p := b.published[s].Load()
	if b.latest.Version == p.version {
		return
	}
	next := b.state(s, p.window)
	if next.shows(p) {
		return // the window is running; its end shows it
	}
	next.seq, next.before = p.seq, p.before
	b.published[s].Store(next)
}

func (b *board) state(s shape, window time.Duration) *state {
	top := b.latest
	ts := top.UpdatedAt
	if ts.IsZero() {
		ts = top.AsOf
	}
	return &state{
		seq: 1, board: top.Board, epoch: top.Epoch, version: top.Version, ts: ts.UTC(),
		degraded: top.Degraded, window: window, encoding: b.hub.metrics.encode,
		rows: top.Entries[:min(len(top.Entries), b.hub.rows(s))],
	}
}

// add lets sub be told of b from now on.
func (b *board) add(sub *subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.relabel(sub.shape)
	sub.index = len(b.subs)
	b.subs = append(b.subs, sub)
	if user := sub.conn.viewer.User; user != "" {
		b.seat(user, sub)
	}
}

func (b *board) remove(sub *subscription, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.subs) - 1
	b.subs[sub.index] = b.subs[last]
	b.subs[sub.index].index = sub.index
	b.subs[last] = nil
	b.subs = b.subs[:last]
	if last == 0 {
		b.left = now
	}
	if sub.standing != nil {
		b.unseat(sub)
	}
}
