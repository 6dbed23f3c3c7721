package realtime

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// fixed is a source whose boards are empty and never change.
type fixed struct{}

func (fixed) ReadTop(_ context.Context, b scoreboard.BoardID) (*scoreboard.Top, error) {
	return &scoreboard.Top{Board: b, Epoch: 1, Version: 1}, nil
}

func (fixed) ReadPlaces(_ context.Context, b scoreboard.BoardID, _ []scoreboard.UserID) (*scoreboard.List, error) {
	return &scoreboard.List{Board: b}, nil
}

func TestBoardIsKeptBetweenLookupAndSubscription(t *testing.T) {
	t.Parallel()
	h := NewHub(Options{Linger: time.Minute}, fixed{}, nil, slog.New(slog.DiscardHandler))
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
		t.Fatal("removed between a connection's lookup and its subscription")
	}
	h.silent(time.Now().Add(2 * time.Minute))
	if len(h.boards)+len(h.instances) != 0 {
		t.Errorf("boards: got %d and %d indexed, want none", len(h.boards), len(h.instances))
	}
}

func TestLateLookupIsIgnored(t *testing.T) {
	t.Parallel()
	h := NewHub(Options{}, fixed{}, nil, slog.New(slog.DiscardHandler))
	b, err := h.board(t.Context(), "global")
	if err != nil {
		t.Fatal(err)
	}
	c := NewHandlerConn(h, "test", &Viewer{User: "alice"})
	sub := &subscription{conn: &c.Conn, board: b}
	b.add(sub)
	b.mu.Lock()
	b.accept(
		&scoreboard.Top{
			Board:   "global",
			Epoch:   1,
			Version: 5,
			Entries: []scoreboard.Entry{{Rank: 1, User: "alice", Score: 9}},
		},
		nil, false,
	)
	b.mu.Unlock()
	b.publish(0)
	list, row := scoreboard.List{Board: "global", Epoch: 1, Version: 4}, scoreboard.Entry{User: "alice", Rank: 200}
	sub.standing.resolve(&list, &row, nil)
	if got := sub.standing.rank; got != 1 {
		t.Errorf("rank: got %d from an older look-up, want 1", got)
	}
	list.Version = 6
	sub.standing.resolve(&list, &row, nil)
	if got := sub.standing.rank; got != 200 {
		t.Errorf("rank: got %d, want the newer look-up's 200", got)
	}
	sub.standing.resolve(&list, nil, nil)
	if sub.standing.known {
		t.Error("a user that is not on the board still has a rank")
	}
}
