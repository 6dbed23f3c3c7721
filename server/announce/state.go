package announce

import (
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// state is what is known of a board, and what was announced last.
type state struct {
	top   *scoreboard.Top // nil until a notice with the top has arrived
	moved map[scoreboard.UserID]scoreboard.Moved

	// Of the last notice.
	announced      time.Time
	epoch, version int64
	members        []scoreboard.UserID // of the top ten
}

// merge adds n. A notice of an older epoch may arrive late, and is ignored.
func (s *state) merge(n *scoreboard.Notice) {
	t := n.Top
	if t != nil && (s.top == nil || t.Epoch > s.top.Epoch || t.Epoch == s.top.Epoch && t.Version > s.top.Version) {
		s.top = t
	}
	for _, m := range n.Moved {
		if was, ok := s.moved[m.User]; !ok || m.Revision > was.Revision {
			s.moved[m.User] = m
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
	switch newer := s.top.Epoch != s.epoch || s.top.Version != s.version; {
	case now.Sub(s.announced) >= refresh, len(s.moved) >= maxMoved:
		return true
	case newer && !slices.Equal(membersOf(s.top), s.members):
		return true
	case newer, len(s.moved) > 0:
		return now.Sub(s.announced) >= interval
	}
	return false
}

// notice returns the next notice.
func (s *state) notice(board scoreboard.BoardID) scoreboard.Notice {
	n := scoreboard.Notice{Board: board, Top: s.top}
	for _, m := range s.moved {
		if len(n.Moved) == maxMoved {
			break
		}
		n.Moved = append(n.Moved, m)
	}
	return n
}

// markAnnounced removes what n holds, except users who have moved again since.
func (s *state) markAnnounced(n *scoreboard.Notice, at time.Time) {
	s.announced, s.epoch, s.version, s.members = at, n.Top.Epoch, n.Top.Version, membersOf(n.Top)
	for _, m := range n.Moved {
		if s.moved[m.User] == m {
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
