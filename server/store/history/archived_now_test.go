package history_test

import (
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A user of whom an event was reversed, and all rows are archived, has no score as of now that the
// database knows: timelines, histories and checkpoints of the worker are a gone, not a wrong answer.
func TestArchivedReversalIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	submit(t, w.s, "ada", 5, "sum")
	reversed := scoreboard.Increment{
		User: "ada", Boards: []scoreboard.BoardID{"sum"}, Delta: 4, Source: scoreboard.SourceAPI,
		Event: scoreboard.NewEventID(),
	}
	if _, err := w.s.Increments.Record(t.Context(), []scoreboard.Increment{reversed}); err != nil {
		t.Fatal(err)
	}
	submit(t, w.s, "bob", 7, "sum")
	checkpoint(t, w.s)
	var stored time.Time
	if err := w.conn.QueryRow(t.Context(), `select at from checkpoints where board_id = 'sum'`).
		Scan(&stored); err != nil {
		t.Fatal(err)
	}
	at := now(t, w.s)
	if _, _, err := w.s.Corrections.Reverse(t.Context(), "ada", reversed.Event, scoreboard.Reversing{},
		because("event.reverse")); err != nil {
		t.Fatal(err)
	}
	a := w.archive()
	at, stored = at.Add(-age), stored.Add(-age)
	if err := w.makeArchived(a, "sum", at); err != nil {
		t.Fatal(err)
	}
	b := w.board("sum")
	for _, c := range []struct {
		now  bool
		want wire.Code
	}{{false, ""}, {true, wire.CodeGone}} {
		m := scoreboard.PastTime{Now: c.now}
		if _, _, err := w.s.PastBoards.Timeline(t.Context(), b, m, []time.Time{at}, 5); wire.CodeOf(err) != c.want {
			t.Errorf("a timeline, as of now %t: got %v, want %q", c.now, err, c.want)
		}
		_, err := w.s.PastBoards.History(t.Context(), b, m, "bob", []time.Time{at})
		if wire.CodeOf(err) != c.want {
			t.Errorf("a history, as of now %t: got %v, want %q", c.now, err, c.want)
		}
		err = w.top("sum", scoreboard.PastTime{At: stored, Now: c.now})
		if wire.CodeOf(err) != c.want {
			t.Errorf("a checkpoint of the worker, as of now %t: got %v, want %q", c.now, err, c.want)
		}
	}
	w.check("sum", scoreboard.PastTime{At: at, Now: true}, []string{"bob 7", "ada 5"})

	// Everyone may ask, so the answer does not say of whom events were reversed.
	submit(t, w.s, "ada", 1, "sum")
	checkpoint(t, w.s)
	for _, m := range []scoreboard.PastTime{{At: stored, Now: true}, {At: now(t, w.s), Now: true}} {
		err := w.top("sum", m)
		if wire.CodeOf(err) != wire.CodeGone || strings.Contains(err.Error(), "ada") {
			t.Errorf("at %v: got %v, want a gone that names no user", m.At, err)
		}
	}
}
