package announce

import (
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// state is what is known of a board, and what was announced last.
type state struct {
	top   *scoreboard.Top // nil until a notice with the top has arrived
	lower int             // consecutive reads with a lower epoch
	moved map[scoreboard.UserID]move
	trace string // of a notice that is not announced yet

	// Of the last notice.
	announced      time.Time
	epoch, version int64
	members        []scoreboard.UserID // of the top ten
}

// move is a user who moved in an epoch.
type move struct {
	scoreboard.Moved
	epoch int64
}

// read adds a read of the board. Two consecutive reads of a lower epoch replace a
// higher one: one read may have been overtaken by the notice of a rebuild.
func (s *state) read(t *scoreboard.Top) {
	if s.top != nil && t.Epoch < s.top.Epoch {
		if s.lower++; s.lower < 2 {
			return
		}
		s.top = nil
	}
	s.merge(&scoreboard.Notice{Top: t})
	s.lower = 0
}

// merge adds n. A notice of an older epoch may arrive late, and is ignored. Revisions
// are compared within an epoch: after the store was restored, they are lower than
// before.
func (s *state) merge(n *scoreboard.Notice) {
	t := n.Top
	if t != nil && (s.top == nil || t.Epoch > s.top.Epoch || t.Epoch == s.top.Epoch && t.Version > s.top.Version) {
		s.top = t
	}
	var epoch int64
	if s.top != nil {
		epoch = s.top.Epoch
	}
	if n.Trace != "" {
		s.trace = n.Trace
	}
	for _, m := range n.Moved {
		if was, ok := s.moved[m.User]; !ok || was.epoch != epoch || m.Revision > was.Revision {
			s.moved[m.User] = move{m, epoch}
		}
	}
}

// due reports whether to announce the board now: at once if the members of the
// top ten have changed, or if there are more moves than one notice holds;
// otherwise once in an interval.
func (s *state) due(now time.Time, interval, refresh time.Duration) bool {
	if s.top == nil {
		return false
	}
	switch newer := s.newer(); {
	case now.Sub(s.announced) >= refresh, len(s.moved) >= maxMoved:
		return true
	case newer && !slices.Equal(membersOf(s.top), s.members):
		return true
	case newer, len(s.moved) > 0:
		return now.Sub(s.announced) >= interval
	}
	return false
}

// newer reports whether the board has another version than the last notice.
func (s *state) newer() bool { return s.top.Epoch != s.epoch || s.top.Version != s.version }

// changed reports whether the board is announced sooner or later, if nothing else happens to it.
func (s *state) changed() bool { return s.top != nil && (s.newer() || len(s.moved) > 0) }

// notice returns the next notice.
func (s *state) notice(board scoreboard.BoardID) scoreboard.Notice {
	n := scoreboard.Notice{Board: board, Top: s.top, Trace: s.trace}
	for _, m := range s.moved {
		if len(n.Moved) == maxMoved {
			break
		}
		n.Moved = append(n.Moved, m.Moved)
	}
	return n
}

// markAnnounced removes what n holds, except users who have moved again since.
func (s *state) markAnnounced(n *scoreboard.Notice, at time.Time) {
	s.announced, s.epoch, s.version, s.members = at, n.Top.Epoch, n.Top.Version, membersOf(n.Top)
	if s.trace == n.Trace {
		s.trace = ""
	}
	for _, m := range n.Moved {
		if s.moved[m.User].Moved == m {
			delete(s.moved, m.User)
		}
	}
}

// membersOf returns the users in the top ten, sorted by id: a change of order
// among them is no change of members.
func membersOf(t *scoreboard.Top) []scoreboard.UserID {
	users := make([]scoreboard.UserID, min(len(t.Entries), topTen))
	for i := range users {
		users[i] = t.Entries[i].User
	}
	slices.Sort(users)
	return users
}
