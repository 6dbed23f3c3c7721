package ledger_test

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// An increment for a period counts in it or nowhere: the period is that of the time of
// recording, or of acceptance.
func TestIncrementsForAPeriod(t *testing.T) {
	t.Parallel()
	midnight := noon.Add(-day / 2)
	const (
		active, frozen = scoreboard.StatusActive, scoreboard.StatusFrozen
		ended, closed  = wire.CodePeriodEnded, wire.CodeBoardClosed
		first, second  = "daily:2026-11-20", "daily:2026-11-21"
	)
	for _, c := range []struct {
		name               string
		period             scoreboard.BoardID
		accepted, recorded time.Time // a zero accepted: recorded at once
		family, yesterday  scoreboard.Status
		want               wire.Code
	}{
		{"the current one", second, time.Time{}, noon, active, active, ""},
		{"the one before", first, time.Time{}, noon, active, active, ended},
		{"the one before, closed", first, time.Time{}, noon, active, frozen, ended},
		{"the next one", "daily:2026-11-22", time.Time{}, noon, active, active, ended},
		{"one that never was", "daily:never", time.Time{}, noon, active, active, ended},
		{"a moment before the end", first, time.Time{}, midnight.Add(-1), active, active, ""},
		{"at the end", first, time.Time{}, midnight, active, active, ended},
		{"accepted before the end", first, midnight.Add(-1), midnight.Add(time.Second), active, active, ""},
		{"accepted before the beginning", second, midnight.Add(-1), midnight.Add(time.Second), active, active, ended},
		{"accepted at the end", first, midnight, midnight.Add(time.Second), active, active, ended},
		{"accepted for the period", second, midnight, midnight.Add(time.Second), active, active, ""},
		{"accepted in a closed period", first, midnight.Add(-1), noon, active, frozen, closed},
		{"a frozen board", second, time.Time{}, noon, frozen, active, closed},
		{"a frozen board, the one before", first, time.Time{}, noon, frozen, active, closed},
		{"after the clock went back", second, time.Time{}, midnight.Add(-1), active, frozen, ""},
		{"after the clock went back, the closed one", first, time.Time{}, midnight.Add(-1), active, frozen, ended},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			family, yesterday, today := daily()
			family.Status, yesterday.Status = c.family, c.yesterday
			if c.yesterday != active {
				yesterday.Closed = midnight.Add(10 * time.Second)
			}
			m := newMemory(family, yesterday, today, board("all", scoreboard.ModeIncrement))
			m.now = c.recorded
			for _, boards := range [][]scoreboard.BoardID{{"daily"}, {"all", "daily"}} {
				in := increment("ada", 5, string(boards[0]), boards...)
				in.IfPeriod, in.Accepted = c.period, c.accepted
				o := m.record(t, in)[0]
				wantCode(t, "the increment", o.Err, c.want)
				if c.want == "" && o.Receipts[len(boards)-1].Board != c.period {
					t.Errorf("counted on %s, want %s", o.Receipts[len(boards)-1].Board, c.period)
				}
				m.now = c.recorded
			}
			if s := m.standing("ada", "all"); s.exists != (c.want == "") {
				t.Errorf("on a board beside: %t, want all of the event's boards or none", s.exists)
			}
		})
	}
}

// A repeat gets its receipts whatever period it names; an increment does not end its own.
func TestRepeatsForAPeriod(t *testing.T) {
	t.Parallel()
	family, yesterday, today := daily()
	m := newMemory(family, yesterday, today)
	m.now = noon.Add(-day)
	in := increment("ada", 5, "e", "daily")
	in.IfPeriod = yesterday.ID
	wantCode(t, "the first time", m.record(t, in)[0].Err, "")
	m.now = noon
	for _, period := range []scoreboard.BoardID{yesterday.ID, today.ID, ""} {
		in.IfPeriod = period
		o := m.record(t, in)[0]
		wantCode(t, "the repeat for "+string(period), o.Err, "")
		if len(o.Receipts) != 1 || o.Receipts[0].Board != yesterday.ID || !o.Receipts[0].Replayed {
			t.Errorf("for %q: got %+v, want the receipt of %s", period, o.Receipts, yesterday.ID)
		}
	}
	other := in
	other.Delta++
	other.IfPeriod = yesterday.ID
	wantCode(t, "another payload", m.record(t, other)[0].Err, wire.CodeEventConflict)
}

// Between two seasons none is current, and a board without periods never has one.
func TestPeriodsThatAreNotCurrent(t *testing.T) {
	t.Parallel()
	season, autumn, _ := daily()
	season.Period = scoreboard.PeriodSeason
	m := newMemory(season, autumn, board("all", scoreboard.ModeIncrement))
	for period, want := range map[scoreboard.BoardID]wire.Code{
		autumn.ID: wire.CodePeriodEnded, "": wire.CodeBoardClosed,
	} {
		in := increment("ada", 1, "e", "daily")
		in.IfPeriod = period
		wantCode(t, "between two seasons, for "+string(period), m.record(t, in)[0].Err, want)
	}
	in := increment("ada", 1, "e", "all")
	in.IfPeriod = "all:2026-11-21"
	wantCode(t, "a board without periods", m.record(t, in)[0].Err, wire.CodeInvalidRequest)
	if _, added := ledger.NewAdditions([]scoreboard.Increment{in}, shards, nil); added {
		t.Error("PostgreSQL adds it up without a decision")
	}
}

func TestPeriodMustBeOfANamedBoard(t *testing.T) {
	t.Parallel()
	for period, valid := range map[scoreboard.BoardID]bool{
		"": true, "weekly:2026-w47": true, "daily:2026-11-21": true,
		"weekly": false, "monthly:2026-11": false, "global:x": false, "weekly:": false, ":x": false,
		"weekly:2026-W47": false, "weekly:2026-w47:1": false, "weekly:2026 w47": false,
	} {
		err := scoreboard.CheckIfPeriod(period, []scoreboard.BoardID{"daily", "weekly"})
		if want := map[bool]wire.Code{true: "", false: wire.CodeInvalidRequest}[valid]; wire.CodeOf(err) != want {
			t.Errorf("%q: got %v, want %q", period, err, want)
		}
	}
}
