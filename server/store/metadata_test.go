package store_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A standing has the metadata of the submission that made it, or none: never that of another one,
// also where somebody has recorded it who knows no metadata.
func TestMetadataOfStandings(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	conn.Do(t, `update boards set metadata = 'public' where board_id = 'global'`)
	submit := func(event, metadata string) {
		t.Helper()
		in := increment("ada", 1, event)
		in.Metadata = scoreboard.Metadata(metadata)
		if o := record(t, s, in); o[0].Err != nil {
			t.Fatal(o[0].Err)
		}
	}
	want := func(what, metadata string) {
		t.Helper()
		found, err := s.Reads.Metadata(t.Context(), "global", []scoreboard.UserID{"ada", "bob"}, "")
		got := ""
		if len(found) == 1 {
			got = string(found[0].Metadata)
		}
		if err != nil || got != metadata || len(found) > 1 {
			t.Errorf("%s: got %+v, %v, want %q", what, found, err, metadata)
		}
		err = s.Reads.Export(t.Context(), &scoreboard.Board{ID: "global"}, func(rows []scoreboard.FinalStanding) error {
			if string(rows[0].Metadata) != metadata {
				t.Errorf("%s: the export has %q, want %q", what, rows[0].Metadata, metadata)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	submit("e1", `{"n":1}`)
	want("the first", `{"n":1}`)
	submit("e2", ``)
	want("one without", ``)
	submit("e3", `{"n":3}`)
	why := &scoreboard.AuditEntry{Actor: "root", Action: "event.reverse", Target: "user:ada", Reason: "test"}
	event := increment("ada", 5, "a1").Event
	if _, err := s.Corrections.Adjust(t.Context(), scoreboard.Adjustment{
		User: "ada", Board: "global", Delta: 5, Event: event,
	}, why); err != nil {
		t.Fatal(err)
	}
	want("after an adjustment", `{"n":3}`)
	conn.Do(t, `update scores set hidden = true where user_id = 'ada'`)
	for own, n := range map[scoreboard.UserID]int{"": 0, "bob": 0, "ada": 1} {
		found, err := s.Reads.Metadata(t.Context(), "global", []scoreboard.UserID{"ada"}, own)
		if err != nil || len(found) != n {
			t.Errorf("of a hidden user, for %q: got %+v, %v, want %d", own, found, err, n)
		}
	}
	conn.Do(t, `update scores set hidden = false where user_id = 'ada'`)

	// Without metadata on the board, increments only add up.
	conn.Do(t, `update boards set metadata = null where board_id = 'global'`)
	submit("e4", ``)
	conn.Do(t, `update boards set metadata = 'public' where board_id = 'global'`)
	want("recorded while the board kept none", ``)

	for _, step := range []struct{ event, left string }{{"e4", `{"n":3}`}, {"e3", ``}, {"e2", `{"n":1}`}, {"e1", ``}} {
		if _, _, err := s.Corrections.Reverse(t.Context(), "ada", increment("ada", 1, step.event).Event,
			scoreboard.Reversing{}, why); err != nil {
			t.Fatal(err)
		}
		want("without "+step.event, step.left)
	}
	if n := conn.Count(t, `select count(*) from user_score_histories where metadata is not null`); n != 2 {
		t.Errorf("the ledger has metadata in %d rows, want 2", n)
	}
}
