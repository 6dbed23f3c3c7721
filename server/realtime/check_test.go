package realtime

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

type still struct{}

func (still) Top(_ context.Context, b scoreboard.BoardID) (*scoreboard.Top, error) {
	return &scoreboard.Top{Board: b, Epoch: 1, Version: 1}, nil
}

func (still) Place(context.Context, scoreboard.BoardID, scoreboard.UserID) (*scoreboard.Place, error) {
	return nil, scoreboard.Errorf(scoreboard.CodeNotFound, "no score")
}

func TestBoardIsForgottenButNotUnderAJoin(t *testing.T) {
	t.Parallel()
	h := NewHub(Options{Linger: time.Minute}, still{}, slog.New(slog.DiscardHandler))
	b, err := h.board(t.Context(), "global")
	if err != nil {
		t.Fatal(err)
	}
	b.left = time.Now().Add(-time.Hour)
	if again, _ := h.board(t.Context(), "global"); again != b {
		t.Fatal("got another board")
	}
	h.silent(time.Now())
	if len(h.boards) != 1 {
		t.Fatal("forgotten between a join's look and its subscription")
	}
	h.silent(time.Now().Add(2 * time.Minute))
	if len(h.boards)+len(h.instances) != 0 {
		t.Errorf("boards: got %d and %d indexed, want none", len(h.boards), len(h.instances))
	}
}

func TestLateLookupIsNotBelieved(t *testing.T) {
	t.Parallel()
	h := NewHub(Options{}, still{}, slog.New(slog.DiscardHandler))
	b, err := h.board(t.Context(), "global")
	if err != nil {
		t.Fatal(err)
	}
	c := h.handled("test", Viewer{User: "alice"}, Join{})
	sub := &subscription{conn: &c.conn, board: b}
	b.add(sub)
	b.mu.Lock()
	b.accept(&scoreboard.Top{Board: "global", Epoch: 1, Version: 5, Entries: []scoreboard.Entry{{Rank: 1, User: "alice", Score: 9}}}, false)
	b.mu.Unlock()
	b.publish(0)
	place := scoreboard.Place{Board: "global", User: "alice", Rank: 200, Epoch: 1, Version: 4}
	sub.standing.answer(&place, nil)
	if got := sub.standing.rank; got != 1 {
		t.Errorf("rank: got %d from an older look-up, want 1", got)
	}
	place.Version = 6
	sub.standing.answer(&place, nil)
	if got := sub.standing.rank; got != 200 {
		t.Errorf("rank: got %d, want the newer look-up's 200", got)
	}
	sub.standing.answer(nil, scoreboard.Errorf(scoreboard.CodeNotFound, "hidden"))
	if sub.standing.known {
		t.Error("a user without a standing has a rank still")
	}
}
