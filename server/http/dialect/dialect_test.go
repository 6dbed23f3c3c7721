package dialect

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestNumericIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"0": "0", "42": "42", "9007199254740991": "9007199254740991", "9007199254740992": `"9007199254740992"`,
		"007": `"007"`, "-1": `"-1"`, "+1": `"+1"`, "1.0": `"1.0"`, "alice": `"alice"`, "": `""`,
	} {
		if got, err := json.Marshal(numericID(id)); err != nil || string(got) != want {
			t.Errorf("%q: got %s, %v, want %s", id, got, err, want)
		}
	}
}

// A row of the caller is never older than the caller's standing.
func TestFirstRowsIncludeThePlace(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	board := func(users ...scoreboard.UserID) *scoreboard.Top {
		top := &scoreboard.Top{}
		for i, user := range users { // 100, 99, …
			top.Entries = append(top.Entries, scoreboard.Entry{
				Rank: int64(i + 1), User: user, Score: scoreboard.Score(100 - i),
			})
			top.Reached = append(top.Reached, at)
		}
		return top
	}
	twelve := []scoreboard.UserID{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
	for name, tt := range map[string]struct {
		top   *scoreboard.Top
		place scoreboard.Place
		want  []scoreboard.UserID
	}{
		"included":       {board("a", "b"), scoreboard.Place{User: "b", Score: 99, Rank: 2}, twelve[:2]},
		"older row":      {board("b", "a"), scoreboard.Place{User: "a", Score: 101, Rank: 1}, twelve[:2]},
		"fallen":         {board("b", "a"), scoreboard.Place{User: "b", Score: 5, Rank: 2}, twelve[:2]},
		"missing":        {board("a"), scoreboard.Place{User: "z", Score: 100, Rank: 1}, []scoreboard.UserID{"a", "z"}},
		"empty":          {board(), scoreboard.Place{User: "z", Score: 1, Rank: 1}, []scoreboard.UserID{"z"}},
		"not among them": {board(twelve...), scoreboard.Place{User: "z", Score: 1, Rank: 13}, twelve[:10]},
		"left the first ten": {
			board(twelve...), scoreboard.Place{User: "a", Score: 1, Rank: 12}, twelve[1:11],
		},
	} {
		tt.place.UpdatedAt = at.Add(time.Second)
		var got []scoreboard.UserID
		for i, e := range withPlace(tt.top, &tt.place, &scoreboard.Board{Order: scoreboard.OrderHighest}) {
			got = append(got, e.User)
			if e.Rank != int64(i+1) {
				t.Errorf("%s: row %d has rank %d", name, i, e.Rank)
			}
			if e.User == tt.place.User && e.Score != tt.place.Score {
				t.Errorf("%s: the caller's row has score %d, want %d", name, e.Score, tt.place.Score)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

// existing are boards; others can be created.
type existing struct {
	boards    map[scoreboard.BoardID]*scoreboard.Board
	unseen    scoreboard.BoardID // that another node creates after the first look
	conflicts []scoreboard.BoardID
	trail     []scoreboard.AuditEntry
}

func (e *existing) CreateBoard(
	_ context.Context, b *scoreboard.Board, _ *scoreboard.Span, why *scoreboard.AuditEntry,
) (*scoreboard.Board, error) {
	if e.boards[b.ID] != nil {
		e.conflicts = append(e.conflicts, b.ID)
		return nil, scoreboard.Errorf(wire.CodeConflict, "board %s exists", b.ID)
	}
	e.boards[b.ID] = b
	if why != nil {
		e.trail = append(e.trail, *why)
	}
	return b, b.Check()
}

func (e *existing) ChangeBoard(
	_ context.Context, id scoreboard.BoardID, change *scoreboard.BoardChange, why *scoreboard.AuditEntry,
) (*scoreboard.Board, error) {
	b := e.boards[id]
	_, err := change.Bounds.Apply(b)
	e.trail = append(e.trail, *why)
	return b, err
}

// The settings of delta widen the bounds of its board, even if an operator created it, and leave those of
// the others. Bounds that are in force are not set again.
func TestBoundsOfDelta(t *testing.T) {
	t.Parallel()
	boards := &existing{boards: make(map[scoreboard.BoardID]*scoreboard.Board)}
	c := &config.Dialects{Names: config.DialectNames, DeltaMin: "-50", DeltaMax: "5000000"}
	c.Highscore.Board, c.Delta.Board, c.Module.Board, c.Plain.Board = "highscore", "delta", "module", "plain"
	for range 2 {
		if err := EnsureBoards(t.Context(), c, boards); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[scoreboard.BoardID][2]int64{
		"delta": {-50, 5_000_000}, "module": {1, 1_000_000}, "plain": {0, scoreboard.MaxScore},
	} {
		if b := boards.boards[id]; b.MinDelta != want[0] || b.MaxDelta != want[1] {
			t.Errorf("%s has the bounds %d to %d, want %v", id, b.MinDelta, b.MaxDelta, want)
		}
	}
	changes := slices.DeleteFunc(boards.trail, func(e scoreboard.AuditEntry) bool { return e.Action != "board.set" })
	if len(changes) != 1 || changes[0].Target != "board:delta" {
		t.Errorf("got the changes %+v, want one of delta", changes)
	}
	c.DeltaMin, c.DeltaMax = "", ""
	if err := EnsureBoards(t.Context(), c, boards); err != nil || boards.boards["delta"].MinDelta != -50 {
		t.Errorf("without the settings the bounds changed, %v", err)
	}
}

func (e *existing) FindBoard(_ context.Context, id scoreboard.BoardID) (*scoreboard.Board, error) {
	if id == e.unseen {
		e.unseen = ""
	} else if b := e.boards[id]; b != nil {
		return b, nil
	}
	return nil, scoreboard.Errorf(wire.CodeNotFound, "board %s does not exist", id)
}

// A dialect does not write to a board that counts in another way. A board that exists is
// not created again, which PostgreSQL would log as an error, unless two nodes start at once.
func TestEnsureBoards(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"plain": "", "global": "has mode increment", "races": "order lowest"} {
		boards := &existing{unseen: "races", boards: map[scoreboard.BoardID]*scoreboard.Board{
			"global": {ID: "global", Mode: scoreboard.ModeIncrement, Order: scoreboard.OrderHighest},
			"races":  {ID: "races", Mode: scoreboard.ModeBest, Order: scoreboard.OrderLowest},
		}}
		c := &config.Dialects{Names: config.DialectNames}
		c.Highscore.Board, c.Delta.Board, c.Module.Board, c.Plain.Board = "highscore", "global", "global", name
		err := EnsureBoards(t.Context(), c, boards)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
		var conflicts []scoreboard.BoardID
		if name == "races" {
			conflicts = append(conflicts, "races")
		}
		if !slices.Equal(boards.conflicts, conflicts) {
			t.Errorf("%s: got conflicts at %v, want %v", name, boards.conflicts, conflicts)
		}
		if want != "" {
			continue
		}
		b := boards.boards["highscore"]
		if b == nil || b.Period != scoreboard.PeriodMonthly || b.Mode != scoreboard.ModeBest {
			t.Errorf("highscore was created as %+v", b)
		}
		// As every new board, it has its entry in the audit trail.
		if len(boards.trail) != 2 || boards.trail[0].Target != "board:highscore" ||
			boards.trail[1].Target != "board:plain" || boards.trail[1].Action != "board.create" ||
			boards.trail[1].Actor != "scoreboardd" {
			t.Errorf("got the audit entries %+v, want two of new boards", boards.trail)
		}
	}
}
