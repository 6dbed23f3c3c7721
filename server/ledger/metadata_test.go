package ledger_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Increments without metadata write no column of it and allocate nothing for it.
func TestNoMetadataCostsNothing(t *testing.T) {
	m := newMemory(board("sum", scoreboard.ModeIncrement), board("high", scoreboard.ModeBest))
	b, err := m.begin([]scoreboard.Increment{
		increment("ada", 5, "e1", "sum"), increment("ada", 7, "e2", "high"), increment("ada", 6, "e3", "high"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Decide()
	if b.Rows.Len() != 3 || b.Rows.Metadata != nil || b.Rows.StandingMetadata != nil {
		t.Errorf("%d rows have %d and %d columns of metadata, want 3 without", b.Rows.Len(), len(b.Rows.Metadata),
			len(b.Rows.StandingMetadata))
	}
	in := increment("ada", 5, "e1", "sum")
	boards := []*scoreboard.Board{m.boards[0]}
	if n := testing.AllocsPerRun(100, func() {
		_ = in.PayloadHash()
		if err := in.CheckMetadata(boards); err != nil {
			t.Fatal(err)
		}
		_ = boards[0].MetadataAfter("", in.Metadata, true)
	}); n != 0 {
		t.Errorf("an increment without metadata allocates %v times", n)
	}
}

// A known event is answered, although its board keeps no metadata any more.
func TestRepeatsWithMetadata(t *testing.T) {
	t.Parallel()
	cup := board("cup", scoreboard.ModeIncrement)
	cup.Metadata = scoreboard.MetadataPublic
	m := newMemory(cup)
	in := increment("ada", 5, "e1", "cup")
	in.Metadata = `{"a":1}`
	if o := m.record(t, in)[0]; o.Err != nil {
		t.Fatal(o.Err)
	}
	cup.Metadata = scoreboard.MetadataNone
	if o := m.record(t, in)[0]; o.Err != nil || !o.Receipts[0].Replayed {
		t.Errorf("got %+v, want the receipt", o)
	}
	in.Event = mustEvent("ada", "e2")
	wantCode(t, "another event", m.record(t, in)[0].Err, wire.CodeInvalidRequest)
	in = increment("ada", 5, "e1", "cup")
	in.Metadata = `{"a":2}`
	wantCode(t, "other metadata", m.record(t, in)[0].Err, wire.CodeEventConflict)
	if s := m.scores[ledger.ScoreKey{User: "ada", Board: "cup"}]; s.Metadata != `{"a":1}` {
		t.Errorf("got %q", s.Metadata)
	}
}
