package realtime

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// FriendsSource reads the standings of a user and the user's friends on a board. Those
// without one are in Missing.
type FriendsSource interface {
	ReadFriends(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) (*scoreboard.List, error)
}

// CohortSource reads the standings of a user's cohort in the current period of a league, as everyone sees them.
type CohortSource interface {
	ReadCohort(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) (*scoreboard.CohortList, error)
	// WithoutCohort returns the current period of a league, and those of users who have no cohort in it.
	WithoutCohort(
		ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID,
	) (period scoreboard.BoardID, none []scoreboard.UserID, err error)
}

// circleKey names a circle of a board: a user has one with the friends, and one with the cohort.
type circleKey struct {
	user   scoreboard.UserID
	cohort bool
}

// circle is a viewer with the viewer's friends on a board, or with the viewer's cohort in a league. It is read
// when one of them has moved, and never because others did; friends made or lost, members who join, and ranks
// that others have changed, are found by a read every circleAge.
//
// The viewers of a cohort share what is read: one of their circles leads, follows the members and is looked up, also
// for the others.
type circle struct {
	circleKey
	board   *board
	subs    []*subscription // of the user
	members []scoreboard.UserID
	read    time.Time // when it was last read
	lead    *circle   // that is looked up for this one; nil: it is looked up itself
	led     []*circle // that this one is looked up for

	moved   bool // in board.movedCircles
	queued  bool // in Hub.friendLookups
	reading bool // is being looked up; a move meanwhile may be missing in what is read, and queues c again
	sent    atomic.Pointer[circleState]
}

// circleAge is how old the standings of friends may become while none of them moves.
const circleAge = 30 * time.Second

// circleState is the newest list of a circle.
type circleState struct {
	seq      uint64
	view     CohortView // of friends without a cohort
	messages messageCache
}

// attachCircle gives sub a circle of its viewer, which all connections of the user share.
func (b *board) attachCircle(key circleKey, sub *subscription) *circle {
	c := b.circles[key]
	if c == nil {
		c = &circle{circleKey: key, board: b}
		if b.circles == nil {
			b.circles = make(map[circleKey]*circle)
			b.circlesOf = make(map[scoreboard.UserID][]*circle)
		}
		b.circles[key] = c
		c.enqueue()
	}
	c.subs = append(c.subs, sub)
	return c
}

func (b *board) detachCircle(c *circle, sub *subscription) {
	c.subs = slices.DeleteFunc(c.subs, func(s *subscription) bool { return s == sub })
	if len(c.subs) == 0 {
		delete(b.circles, c.circleKey)
		b.hub.friendLookups.drop(c.user, c)
		c.leave()
	}
}

// leave has another circle of the cohort lead instead of c, which nobody views any more.
func (c *circle) leave() {
	if lead := c.lead; lead != nil {
		lead.led = slices.DeleteFunc(lead.led, func(o *circle) bool { return o == c })
		c.lead = nil
	}
	members, led := c.members, c.led
	c.led = nil
	c.follow(nil)
	if len(led) == 0 {
		return
	}
	next := led[0]
	next.lead, next.led, next.read = nil, led[1:], c.read
	for _, o := range next.led {
		o.lead = next
	}
	next.follow(members)
	if c.queued || c.moved || c.reading { // its look-up changes nothing any more
		next.enqueue()
	}
}

// follow replaces the users whose moves concern c.
func (c *circle) follow(members []scoreboard.UserID) {
	of := c.board.circlesOf
	for _, user := range c.members {
		of[user] = slices.DeleteFunc(of[user], func(other *circle) bool { return other == c })
		if len(of[user]) == 0 {
			delete(of, user)
		}
	}
	for _, user := range members {
		of[user] = append(of[user], c)
	}
	c.members = members
}

// moveCircles records that a user has moved, and reports whether that concerns a circle for
// the first time in this window.
func (b *board) moveCircles(user scoreboard.UserID) bool {
	first := false
	for _, c := range b.circlesOf[user] {
		if !c.moved {
			c.moved, first = true, true
			b.movedCircles = append(b.movedCircles, c)
		}
	}
	return first
}

// readCircles queues the circles that have moved, and reports whether there were any. While
// the ranking is not healthy they wait.
func (b *board) readCircles() bool {
	if b.latest.Degraded != "" || len(b.movedCircles) == 0 {
		return false
	}
	for _, c := range b.movedCircles {
		c.moved = false
		c.enqueue()
	}
	clear(b.movedCircles)
	b.movedCircles = b.movedCircles[:0]
	return true
}

// refreshCircles queues the circles that were last read before a time.
func (b *board) refreshCircles(before time.Time) {
	for _, c := range b.circles {
		if c.lead == nil && c.read.Before(before) {
			c.enqueue()
		}
	}
}

func (c *circle) enqueue() {
	if c.lead != nil {
		c = c.lead
	}
	if !c.queued && c.board.circles[c.circleKey] == c {
		c.queued = true
		c.board.hub.friendLookups.add(c.user, c)
	}
}

// lookUp reads the list of friends or the cohort, with their standings.
func (c *circle) lookUp(ctx context.Context) {
	began := time.Now() // a change from now on may be missing in the list
	if c.cohort {
		list, err := c.board.hub.Cohorts.ReadCohort(ctx, c.board.id, c.user)
		c.resolve(list, err, began)
		return
	}
	list, err := c.board.hub.friends.ReadFriends(ctx, c.board.id, c.user)
	if err != nil {
		c.resolve(nil, err, began)
		return
	}
	c.resolve(&scoreboard.CohortList{List: *list}, nil, began)
}

// begin records that c, which was taken from the queue, is looked up from now on.
func (c *circle) begin() {
	c.board.mu.Lock()
	defer c.board.mu.Unlock()
	c.queued, c.reading = false, true
}

// maxWithoutCohort is the maximum number of viewers in one question for those without a cohort.
const maxWithoutCohort = 500

// withoutCohort asks once which viewers who wait for a look-up of their cohort have none, beside taken all who are
// queued. It tells them so, and returns their circles. The others are looked up: a cohort has many viewers, who share
// its look-up, but nobody shares that of a viewer without one.
func (b *board) withoutCohort(ctx context.Context, taken []*circle) (told []*circle) {
	waiting := make(map[scoreboard.UserID]*circle)
	for _, c := range taken {
		waiting[c.user] = c
	}
	var queued []*circle
	b.mu.Lock()
	for key, c := range b.circles {
		if len(waiting) >= maxWithoutCohort {
			break
		}
		if key.cohort && c.queued && waiting[key.user] == nil {
			waiting[key.user] = c
			queued = append(queued, c)
			b.hub.friendLookups.drop(key.user, c)
			c.queued, c.reading = false, true
		}
	}
	b.mu.Unlock()
	if len(waiting) == 1 {
		return nil // the look-up is one question, too
	}
	began := time.Now()
	period, none, err := b.hub.Cohorts.WithoutCohort(ctx, b.id, slices.Collect(maps.Keys(waiting)))
	if err == nil {
		for _, user := range none {
			c := waiting[user]
			c.resolve(scoreboard.NoCohort(period, user, began), nil, began)
			told = append(told, c)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range queued {
		if c.reading { // not told: it has the turn that it had
			c.reading = false
			c.enqueue()
		}
	}
	return told
}

// resolve applies the result of a look-up.
func (c *circle) resolve(list *scoreboard.CohortList, err error, began time.Time) {
	b := c.board
	b.mu.Lock()
	defer b.mu.Unlock()
	c.reading = false
	if wire.CodeOf(err) == wire.CodeNotFound {
		c.read = began // the board is no league; looking again at each tick would take the turns of others
	}
	if len(c.subs) == 0 || c.lead != nil || err != nil || list.Degraded != "" || list.Board != b.latest.Board {
		return // gone, or not from a healthy ranking: refreshCircles tries again
	}
	c.read = began
	if c.cohort {
		c.follow(list.Members)
		c.share(list)
	} else {
		members := slices.Clone(list.Missing)
		for i := range list.Entries {
			members = append(members, list.Entries[i].ID())
		}
		c.follow(members)
	}
	c.show(list)
}

// share shows a cohort that c was looked up in to its other viewers, too, and has c lead them. Those who were led until
// now, and are not in the cohort, are looked up themselves.
func (c *circle) share(list *scoreboard.CohortList) {
	former := c.led
	c.led = nil
	unlead(former)
	for _, user := range list.Members {
		o := c.board.circles[circleKey{user, true}]
		if o == nil || o == c {
			continue
		}
		if o.lead != nil {
			o.lead.led = slices.DeleteFunc(o.lead.led, func(other *circle) bool { return other == o })
		}
		if o.queued {
			c.board.hub.friendLookups.drop(o.user, o)
			o.queued = false
		}
		unlead(o.led)
		former = append(former, o.led...)
		o.lead, o.led = c, nil
		o.follow(nil)
		c.led = append(c.led, o)
		o.show(list)
	}
	for _, o := range former {
		if o.lead == nil {
			o.enqueue()
		}
	}
}

func unlead(led []*circle) {
	for _, o := range led {
		o.lead = nil
	}
}

// show has the viewer sent a list unless it is the last one.
func (c *circle) show(list *scoreboard.CohortList) {
	rows := list.Entries
	if own, hidden := list.Own[c.user]; hidden {
		rows = slices.Clone(rows)
		for i := range rows {
			if rows[i].ID() == c.user {
				rows[i] = own
			}
		}
	}
	seq, before := uint64(1), c.sent.Load()
	if before != nil {
		if before.view.Epoch == list.Epoch && before.view.Cohort == list.Cohort &&
			slices.Equal(before.view.Rows, rows) {
			return
		}
		seq = before.seq + 1
	}
	c.sent.Store(&circleState{seq: seq, view: CohortView{
		FriendsView: FriendsView{
			Board: list.Board, User: c.user, Rows: rows, Version: list.Version, Epoch: list.Epoch,
			TS: scoreboard.WritableTime(list.AsOf), SharedRanks: list.SharedRanks,
			Subscores: c.board.latest.Subscores,
		},
		Cohort: list.Cohort, Division: list.Division,
	}})
	for _, sub := range c.subs {
		sub.conn.out.Wake()
	}
}

// newer returns the newest list if it is not the one of seq, which it then sets; nil for no circle.
func (c *circle) newer(seq *uint64) *circleState {
	if c == nil {
		return nil
	}
	f := c.sent.Load()
	if f == nil || f.seq == *seq {
		return nil
	}
	*seq = f.seq
	return f
}
