package announce

import (
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// state is one board: what is known of it, and what was said.
type state struct {
	top   *scoreboard.Top // nil until a whole head has been heard of
	moved map[scoreboard.UserID]scoreboard.Moved

	said           time.Time
	epoch, version int64 // of the last notice
	members        []scoreboard.UserID
}

// take merges n. Notices of an old epoch may come late.
func (s *state) take(n *scoreboard.Notice) {
	if t := n.Top; t != nil && (s.top == nil || t.Epoch > s.top.Epoch || t.Epoch == s.top.Epoch && t.Version > s.top.Version) {
		s.top = t
	}
	for _, m := range n.Moved {
		if was, ok := s.moved[m.User]; !ok || m.Revision > was.Revision {
			s.moved[m.User] = m
		}
	}
}

// due says whether there is something to announce now: at once where the
// members of the top ten are others, else once an interval. The rest of more
// moves than one notice holds does not wait either.
func (s *state) due(now time.Time, interval, refresh time.Duration) bool {
	if s.top == nil {
		return false
	}
	switch newer := s.top.Epoch != s.epoch || s.top.Version != s.version; {
	case now.Sub(s.said) >= refresh, len(s.moved) >= maxMoved:
		return true
	case newer && !slices.Equal(membersOf(s.top), s.members):
		return true
	case newer, len(s.moved) > 0:
		return now.Sub(s.said) >= interval
	}
	return false
}

// notice is what to announce.
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

// sent forgets what n has said, but for what has moved again meanwhile.
func (s *state) sent(n *scoreboard.Notice, at time.Time) {
	s.said, s.epoch, s.version, s.members = at, n.Top.Epoch, n.Top.Version, membersOf(n.Top)
	for _, m := range n.Moved {
		if s.moved[m.User] == m {
			delete(s.moved, m.User)
		}
	}
}

// membersOf are those in the top ten, in an order that is not theirs: who
// overtakes whom is no change of membership.
func membersOf(t *scoreboard.Top) []scoreboard.UserID {
	users := make([]scoreboard.UserID, min(len(t.Entries), topTen))
	for i := range users {
		users[i] = t.Entries[i].User
	}
	slices.Sort(users)
	return users
}
