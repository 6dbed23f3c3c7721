package realtime

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// board is one board on this node: its newest state, and the published one. id
// is the one that clients subscribe to; for a family, latest.Board is the current
// instance.
type board struct {
	id    scoreboard.BoardID
	hub   *Hub
	ready chan struct{} // closed when the first read is done
	err   error         // of the first read; set before ready is closed

	published [shapes]atomic.Pointer[state]

	due    time.Time // end of the window; used by the loop only
	listed bool      // in Hub.changed, guarded by changedMu
	// listedAt is when listed was set, guarded by changedMu.
	listedAt time.Time

	mu     sync.Mutex
	latest *scoreboard.Top
	sound  *scoreboard.Top // the last one that was not degraded: what clients have of its epoch and version
	trace  *messageTrace   // of a change in latest that is not published yet; nil: none is traced
	heard  time.Time       // when a whole state was last received that says how current it is
	read   time.Time       // when it was last read
	lower  time.Time       // since when only lower epochs were read; zero: the last one was not
	subs   []*subscription
	timed  int       // of subs, those whose format needs Top.Reached
	left   time.Time // when the last subscriber left
	joined time.Time // when the first of the present subscribers joined
	users  map[scoreboard.UserID]*standing
	inTop  map[*standing]struct{} // of users, those in the top
	moved  []*standing            // of users, those who moved since the last window
	round  uint64

	circles      map[circleKey]*circle           // of viewers who follow their friends or their cohort
	circlesOf    map[scoreboard.UserID][]*circle // by the users in them
	movedCircles []*circle                       // since the last window
}

// notify applies a notice and reports whether b must be published.
func (b *board) notify(n *scoreboard.Notice, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.latest == nil || b.latest.Board != n.Board {
		return false
	}
	changed := false
	if n.Top != nil {
		if !n.Top.AsOf.IsZero() { // otherwise the ranking may be in doubt
			b.heard = now
		}
		changed = b.accept(n.Top, n.Moved, false)
		if changed && n.Trace != "" {
			b.trace = newMessageTrace(b.hub.tracer, n, now)
		}
	}
	for _, m := range n.Moved {
		if st := b.users[m.User]; st != nil && st.move(m) {
			b.moved = append(b.moved, st)
			changed = true
		}
		changed = b.moveCircles(m.User) || changed
	}
	return changed
}

// update applies a read and reports whether b must be published, and the
// previous instance of a family where that has changed.
func (b *board) update(top *scoreboard.Top, now time.Time) (changed bool, before scoreboard.BoardID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read = now
	if top.Degraded != scoreboard.ReasonStale { // that is what was known before
		b.heard = now
	}
	if b.latest != nil && b.latest.Board != top.Board {
		before = b.latest.Board
	}
	return b.accept(top, nil, true), before
}

// unconfirmed is how long its subscribers have had a state that neither a notice nor a read confirmed.
func (b *board) unconfirmed(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.latest == nil || len(b.subs) == 0 {
		return 0
	}
	if b.joined.After(b.heard) {
		return now.Sub(b.joined)
	}
	return now.Sub(b.heard)
}

// markDegraded marks the last state as degraded, because b could not be read.
func (b *board) markDegraded(reason string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read = now
	if b.latest == nil || b.latest.Degraded == reason {
		return false
	}
	t := *b.latest
	t.Degraded, t.State = reason, scoreboard.StateRebuilding
	b.latest = &t
	return true
}

// doubt is the state of the ranking that top comes from, unless it is healthy.
func doubt(top *scoreboard.Top) scoreboard.BoardState {
	if top.State == scoreboard.StateHealthy {
		return ""
	}
	return top.State
}

// accept makes top the newest state if it is newer. A degraded one keeps the
// last epoch and version. A lower epoch is that before a rebuild, unless startOver says
// otherwise.
//
// moved is of a notice, and tells when its rows were reached. A notice does not know the state of the
// ranking, so the one that was last read stays.
func (b *board) accept(top *scoreboard.Top, moved []scoreboard.Moved, read bool) bool {
	// Under the lock of b: reshow comes before, and top is shown as it demands, or after.
	top = b.hub.showNow(top)
	cur := b.latest
	if !read && cur != nil && doubt(cur) != "" {
		t := *top
		t.State = cur.State
		top = &t
	}
	switch {
	case cur == nil:
	case cur.Board != top.Board:
		// Another instance of the family; only a read gets here.
	case top.Degraded != "":
		t := *top
		t.Epoch, t.Version = cur.Epoch, cur.Version
		top = &t
	case top.Epoch == cur.Epoch && top.Version < cur.Version:
		b.lower = time.Time{}
		return read && b.markDoubted(doubt(top))
	case top.Epoch < cur.Epoch, b.contradicts(top):
		if !read {
			return false
		}
		if doubt(top) != "" { // it is rebuilt under a higher epoch
			return b.markDoubted(doubt(top))
		}
		if !b.startOver(time.Now()) {
			return false
		}
	case top.Epoch == cur.Epoch:
		if top.Version == cur.Version && cur.Degraded == "" && !b.explains(top) && doubt(top) == doubt(cur) {
			b.lower = time.Time{}
			return false
		}
		top = top.After(cur, moved)
	}
	b.lower = time.Time{}
	b.latest = top
	if top.Degraded == "" {
		b.sound = top
	}
	if cur != nil && top.Degraded == "" && (cur.Epoch != top.Epoch || cur.Board != top.Board) {
		b.refreshStandings()
		b.refreshCircles(time.Now())
	}
	return true
}

// contradicts reports whether top has the epoch and version of what clients have, and other scores: a replica of
// Redis that lagged was promoted, or an old server has returned, and came to that version in another way.
func (b *board) contradicts(top *scoreboard.Top) bool {
	if b.sound == nil || top.Board != b.sound.Board || top.Epoch != b.sound.Epoch || top.Version != b.sound.Version {
		return false
	}
	return !slices.EqualFunc(top.Entries, b.hub.showNow(b.sound).Entries, func(x, y scoreboard.Entry) bool {
		return x.User == y.User && x.Pair() == y.Pair()
	})
}

// markDoubted keeps the newest state and says of it that its ranking is in doubt: the state that was read, of a
// replica of Redis that was promoted although it lagged, is not shown.
func (b *board) markDoubted(state scoreboard.BoardState) bool {
	if state == "" || b.latest.Degraded != "" || doubt(b.latest) == state {
		return false
	}
	t := *b.latest
	t.State = state
	b.latest = &t
	return true
}

// lowerEpochWait is how long only lower epochs are read before one is shown: longer than a node
// reads an old Redis, or a replica from before a rebuild.
const lowerEpochWait = 5 * time.Second

// startOver handles a read of a lower epoch, or of one that contradicts, and reports whether it is to be shown: for
// lowerEpochWait there was no other, so the data were replaced by an older copy. No connection
// sees it go back. Those that are open end, and clients begin again.
func (b *board) startOver(now time.Time) bool {
	if b.lower.IsZero() {
		b.lower = now
	}
	if now.Sub(b.lower) < lowerEpochWait {
		return false
	}
	for _, sub := range b.subs {
		sub.conn.Finish(wire.CloseRestart, "restart", sub.conn.bye("restart"))
	}
	return true
}

// reshow publishes the newest state with those users hidden that must be now, and has the
// circles of the changed ones read.
func (b *board) reshow(changed []scoreboard.UserID, window time.Duration) {
	b.mu.Lock()
	loaded := b.latest != nil // or load is about to show it
	if loaded {
		b.latest = b.hub.showNow(b.latest)
		for _, user := range changed {
			b.moveCircles(user)
		}
	}
	b.mu.Unlock()
	if loaded {
		b.publish(window)
	}
}

// publish publishes the newest state and wakes the connections affected by it. It
// reports whether anything was published, so that a window starts.
func (b *board) publish(window time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	var changed, completed [shapes]bool
	for s := range shapes {
		changed[s], completed[s] = b.show(s, window)
	}
	b.trace = nil // in the states that changed; rows that nobody sees end it
	active := b.updateRanks()
	active = b.readCircles() || active
	for _, sub := range b.subs {
		if changed[sub.shape] || completed[sub.shape] && sub.conn.format.Reached {
			sub.conn.out.Wake()
			active = true
		}
	}
	return active
}

// show replaces the published state of a shape if clients would see a
// difference, or if it is now complete for all formats.
func (b *board) show(s shape, window time.Duration) (changed, completed bool) {
	next := b.state(s, window)
	p := b.published[s].Load()
	switch {
	case p == nil:
		changed = true
	case next.differs(p):
		changed = true
		next.follow(p)
		// A change of the ranking's state alone leaves the rows, from which clients may go on.
		next.reshown = next.Version == p.Version && next.Epoch == p.Epoch && (p.reshown || next.rowsDiffer(p))
	case p.Reached == nil && next.Reached != nil:
		completed = true
		next.replace(p)
	default:
		return false, false
	}
	b.published[s].Store(next)
	return changed, completed
}

// relabel gives a published state whose rows are still current the newest
// version, so that a client coming from a node that published that version does
// not see an older one.
func (b *board) relabel(s shape) {
	p := b.published[s].Load()
	if b.latest.Version == p.Version {
		return
	}
	next := b.state(s, p.Window)
	if next.differs(p) {
		return // it is published at the end of the window
	}
	next.replace(p)
	b.published[s].Store(next)
}

func (b *board) state(s shape, window time.Duration) *state {
	top := b.latest
	ts := top.UpdatedAt
	if ts.IsZero() {
		ts = top.AsOf
	}
	asOf := top.AsOf
	if asOf.IsZero() {
		asOf = ts // not every notice says it
	}
	n := min(len(top.Entries), b.hub.rows(s))
	next := &state{seq: 1, rowsSeq: 1, metrics: b.hub.metrics, trace: b.trace, StateView: StateView{
		Board: top.Board, Epoch: top.Epoch, Version: top.Version, Degraded: top.Degraded, Doubt: doubt(top),
		Window: window,
		TS:     scoreboard.WritableTime(ts), AsOf: scoreboard.WritableTime(asOf), Rows: top.Entries[:n],
		Subscores: top.Subscores,
	}}
	if len(top.Reached) == len(top.Entries) {
		next.Reached = top.Reached[:n:n]
	}
	for i := 1; i < n && !next.tied; i++ {
		next.tied = top.Entries[i].Rank == top.Entries[i-1].Rank
	}
	return next
}

// explains reports whether top, a read, has the times that the newest state lacks.
func (b *board) explains(top *scoreboard.Top) bool {
	return b.latest.Reached == nil && top.Reached != nil
}

// unexplained reports whether a subscription waits for times that no notice told.
func (b *board) unexplained() bool { return b.timed > 0 && b.latest.Reached == nil }

// add adds a subscription.
func (b *board) add(sub *subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.relabel(sub.shape)
	if len(b.subs) == 0 {
		b.joined = time.Now()
	}
	sub.index = len(b.subs)
	b.subs = append(b.subs, sub)
	if sub.conn.format.Reached {
		b.timed++
	}
	if user := sub.conn.user; user != "" && sub.conn.format.Rank != nil {
		b.attach(user, sub)
	}
	if sub.conn.friends {
		sub.circle = b.attachCircle(circleKey{user: sub.conn.user}, sub)
	}
	if sub.conn.cohort {
		sub.cohort = b.attachCircle(circleKey{sub.conn.user, true}, sub)
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
	if sub.conn.format.Reached {
		b.timed--
	}
	if sub.standing != nil {
		b.detach(sub)
	}
	for _, c := range []*circle{sub.circle, sub.cohort} {
		if c != nil {
			b.detachCircle(c, sub)
		}
	}
}
