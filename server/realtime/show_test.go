package realtime

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// shows is a source of one board, and how its users are shown.
type shows struct {
	fixed
	version uint64
	hides   *scoreboard.Profile // how ghost is shown; nil: under the id
}

func (s *shows) ReadTop(context.Context, scoreboard.BoardID) (*scoreboard.Top, error) {
	return s.showNow(s.top(1)), nil
}

// top is a state as it was read, with everyone under the id.
func (s *shows) top(version int64) *scoreboard.Top {
	return &scoreboard.Top{Board: "global", Epoch: 1, Version: version, Total: 2, Entries: []scoreboard.Entry{
		{Rank: 1, User: "ghost", Score: 10 + scoreboard.Score(version)}, {Rank: 2, User: "bob", Score: 3},
	}}
}

func (s *shows) showNow(top *scoreboard.Top) *scoreboard.Top {
	if top.Shown == s.version {
		return top
	}
	next := *top
	next.Shown, next.Entries = s.version, slices.Clone(top.Entries)
	for i := range next.Entries {
		if e := &next.Entries[i]; e.ID() == "ghost" && s.hides != nil {
			e.Hide(s.hides)
		}
	}
	return &next
}

// A notice that was read before a user hid, and arrives after every stream has hidden the user,
// does not name the user again.
func TestLateNoticeNamesNoHiddenUser(t *testing.T) {
	t.Parallel()
	s := &shows{version: 1}
	h := NewHub(Options{}, s, nil, slog.New(slog.DiscardHandler))
	h.ShowUsers(s.showNow)
	b, err := h.board(t.Context(), "global")
	if err != nil {
		t.Fatal(err)
	}
	c := NewHandlerConn(h, "test", &Viewer{User: "alice", Limit: 10})
	b.add(&subscription{conn: &c.Conn, board: b})
	shown := func() scoreboard.UserID {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.latest.Entries[0].User
	}
	if user := shown(); user != "ghost" {
		t.Fatalf("%s is first, want the user who does not hide yet", user)
	}
	late := s.showNow(s.top(2))

	s.version, s.hides = 2, scoreboard.HiddenProfile("ghost", "~pseudonym")
	h.Reshow([]scoreboard.UserID{"ghost"})
	if user := shown(); user != "~pseudonym" {
		t.Fatalf("%s is first after the change", user)
	}
	b.mu.Lock()
	accepted := b.accept(late, nil, false)
	b.mu.Unlock()
	if user := shown(); !accepted || user != "~pseudonym" {
		t.Errorf("%s is first after the late notice, accepted %t; want it with the pseudonym", user, accepted)
	}
}
