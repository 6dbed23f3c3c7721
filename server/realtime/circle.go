package realtime

import (
	"context"
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

// CohortSource reads the standings of a user's cohort in the current period of a league. Members without one
// are in Missing, and the user, if there is no cohort.
type CohortSource interface {
	ReadCohort(ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID) (*scoreboard.CohortList, error)
}

// circleKey names a circle of a board: a user has one with the friends, and one with the cohort.
type circleKey struct {
	user   scoreboard.UserID
	cohort bool
}

// circle is a viewer with the viewer's friends on a board, or with the viewer's cohort in a league. It is read
// when one of them has moved, and never because others did; friends made or lost, members who join, and ranks
// that others have changed, are found by a read every circleAge.
type circle struct {
	circleKey
	board   *board
	subs    []*subscription // of the user
	members []scoreboard.UserID
	read    time.Time // when it was last read

	moved  bool // in board.movedCircles
	queued bool // in Hub.friendLookups
	sent   atomic.Pointer[circleState]
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
		c.follow(nil)
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
		if c.read.Before(before) {
			c.enqueue()
		}
	}
}

func (c *circle) enqueue() {
	if !c.queued && c.board.circles[c.circleKey] == c {
		c.queued = true
		c.board.hub.friendLookups.add(c.user, c)
	}
}

// lookUp reads the list of friends with their standings.
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

// resolve applies the result of a look-up.
func (c *circle) resolve(list *scoreboard.CohortList, err error, began time.Time) {
	b := c.board
	b.mu.Lock()
	defer b.mu.Unlock()
	c.queued = false
	if wire.CodeOf(err) == wire.CodeNotFound {
		c.read = began // the board is no league; looking again at each tick would take the turns of others
	}
	if len(c.subs) == 0 || err != nil || list.Degraded != "" || list.Board != b.latest.Board {
		return // gone, or not from a healthy ranking: refreshCircles tries again
	}
	c.read = began
	members := slices.Clone(list.Missing)
	for i := range list.Entries {
		members = append(members, list.Entries[i].ID())
	}
	c.follow(members)
	seq, before := uint64(1), c.sent.Load()
	if before != nil {
		if before.view.Epoch == list.Epoch && before.view.Cohort == list.Cohort &&
			slices.Equal(before.view.Rows, list.Entries) {
			return
		}
		seq = before.seq + 1
	}
	c.sent.Store(&circleState{seq: seq, view: CohortView{
		FriendsView: FriendsView{
			Board: list.Board, User: c.user, Rows: list.Entries, Version: list.Version, Epoch: list.Epoch,
			TS: scoreboard.WritableTime(list.AsOf), SharedRanks: list.SharedRanks,
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
