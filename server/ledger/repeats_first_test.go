package ledger_test

import (
	"fmt"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A repeat is answered with its receipt before anything is asked of its board, whatever has become of it since;
// what is new is rejected there.
func TestRepeatsBeforeTheStateOfTheirBoard(t *testing.T) {
	t.Parallel()
	const closed = wire.CodeBoardClosed
	frozen, archived := scoreboard.StatusFrozen, scoreboard.StatusArchived
	for what, c := range map[string]struct {
		change func(family, today *scoreboard.Board, m *memory)
		want   wire.Code // of a new event
	}{
		"frozen":        {func(f, _ *scoreboard.Board, _ *memory) { f.Status = frozen }, closed},
		"archived":      {func(f, _ *scoreboard.Board, _ *memory) { f.Status = archived }, closed},
		"a period over": {func(_, _ *scoreboard.Board, m *memory) { m.now = noon.Add(day) }, ""}, // in the next one
		"a closed period": {func(_, today *scoreboard.Board, _ *memory) {
			today.Status, today.Closed = frozen, noon
		}, closed},
		"no attempts left": {
			func(_, today *scoreboard.Board, _ *memory) { today.Attempts = 1 }, wire.CodeAttemptsUsed,
		},
		"other bounds": {
			func(_, today *scoreboard.Board, _ *memory) { today.MaxDelta = 1 }, wire.CodeDeltaOutOfRange,
		},
		"users must join": {
			func(_, today *scoreboard.Board, _ *memory) { today.Join.Required = true }, wire.CodeNotJoined,
		},
	} {
		family, _, today := daily()
		m := newMemory(family, today, instance(family, "2026-11-22", today.PeriodEnd))
		m.now = noon
		in := increment("ada", 5, "e1", "daily")
		wantCode(t, what, m.record(t, in)[0].Err, "")
		c.change(family, today, m)
		o := m.record(t, in)[0]
		wantCode(t, what+": a repeat", o.Err, "")
		if len(o.Receipts) != 1 || !o.Receipts[0].Replayed || o.Receipts[0].Board != today.ID {
			t.Errorf("%s: got %+v, want the first receipt", what, o.Receipts)
		}
		wantCode(t, what+": a new event", m.record(t, increment("ada", 5, "e2", "daily"))[0].Err, c.want)
	}
}

// A standing shows the metadata of the last submission, also if that leaves the score as it is, and on best boards
// that of the first one with the best score.
func TestMetadataByMode(t *testing.T) {
	t.Parallel()
	for mode, want := range map[scoreboard.Mode]string{
		scoreboard.ModeIncrement: `{"n":3}`, scoreboard.ModeLatest: `{"n":3}`, scoreboard.ModeBest: `{"n":2}`,
	} {
		cup := board("cup", mode)
		cup.Metadata = scoreboard.MetadataPublic
		m := newMemory(cup)
		for i, delta := range []int64{5, 9, 9} {
			in := increment("ada", delta, fmt.Sprint("e", i), "cup")
			in.Metadata = scoreboard.Metadata(fmt.Sprintf(`{"n":%d}`, i+1))
			wantCode(t, string(mode), m.record(t, in)[0].Err, "")
		}
		if got := m.scores[ledger.ScoreKey{User: "ada", Board: "cup"}].Metadata; string(got) != want {
			t.Errorf("%s: the standing has %s, want %s", mode, got, want)
		}
	}
}
