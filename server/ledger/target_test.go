package ledger_test

import (
	"errors"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// daily returns a daily board with the instances of noon's day and the day before.
func daily() (family, yesterday, today *scoreboard.Board) {
	family = board("daily", scoreboard.ModeIncrement)
	family.Period = scoreboard.PeriodDaily
	midnight := noon.Add(-day / 2)
	return family, instance(family, "2026-11-20", midnight.Add(-day)), instance(family, "2026-11-21", midnight)
}

func instance(family *scoreboard.Board, name string, start time.Time) *scoreboard.Board {
	b := *family
	b.ID, b.PeriodStart, b.PeriodEnd = family.ID+":"+scoreboard.BoardID(name), start, start.Add(day)
	return &b
}

func TestInstanceOfAFamily(t *testing.T) {
	t.Parallel()
	midnight := noon.Add(-day / 2)
	const frozen, active = scoreboard.StatusFrozen, scoreboard.StatusActive
	for _, c := range []struct {
		name               string
		accepted, recorded time.Time // a zero accepted: recorded at once
		family             scoreboard.Status
		yesterday, today   scoreboard.Status
		want               scoreboard.BoardID
		code               wire.Code
	}{
		{"recorded at once", time.Time{}, noon, active, active, active, "daily:2026-11-21", ""},
		{"at the start of the period", time.Time{}, midnight, active, active, active, "daily:2026-11-21", ""},
		{"just before it", time.Time{}, midnight.Add(-1), active, active, active, "daily:2026-11-20", ""},
		{
			"accepted the day before", midnight.Add(-1), midnight.Add(time.Second), active, active, active,
			"daily:2026-11-20", "",
		},
		{
			"accepted at the start of the period", midnight, midnight.Add(time.Second), active, active, active,
			"daily:2026-11-21", "",
		},
		{
			"accepted the day before, which is closed", midnight.Add(-1), noon, active, frozen, active, "",
			wire.CodeBoardClosed,
		},
		{"accepted before both", noon.Add(-3 * day), noon, active, active, active, "", wire.CodeBoardClosed},
		{"accepted by a clock that is ahead", noon.Add(day), noon, active, active, active, "daily:2026-11-21", ""},
		{"the instance is frozen", time.Time{}, noon, active, active, frozen, "", wire.CodeBoardClosed},
		{"the family is frozen", time.Time{}, noon, frozen, active, active, "", wire.CodeBoardClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			family, yesterday, today := daily()
			family.Status, yesterday.Status, today.Status = c.family, c.yesterday, c.today
			if c.yesterday != active {
				yesterday.Closed = midnight.Add(10 * time.Second)
			}
			m := newMemory(family, yesterday, today)
			m.now = c.recorded
			in := increment("ada", 5, "e", "daily")
			in.Accepted = c.accepted
			o := m.record(t, in)[0]
			wantCode(t, "the increment", o.Err, c.code)
			if c.code == "" && o.Receipts[0].Board != c.want {
				t.Errorf("counted on %s, want %s", o.Receipts[0].Board, c.want)
			}
		})
	}
}

// The clock decides the period for everyone. A user's own time, which never goes back,
// does not, and a period that is closed is not opened again.
func TestInstanceAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	midnight := noon.Add(-day / 2)
	for _, c := range []struct {
		name     string
		clock    time.Time
		accepted time.Time
		closed   time.Time // of yesterday's instance; zero: open
		today    scoreboard.Status
		want     scoreboard.BoardID
		code     wire.Code
	}{
		{"within the day", noon, time.Time{}, midnight, scoreboard.StatusActive, "daily:2026-11-21", ""},
		{
			"to the day before, which is open", midnight.Add(-1),
			time.Time{},
			time.Time{},
			scoreboard.StatusActive,
			"daily:2026-11-20", "",
		},
		{
			"to the day before, which is closed", midnight.Add(-1),
			time.Time{},
			midnight, scoreboard.StatusActive,
			"daily:2026-11-21", "",
		},
		{
			"to a day before two closed ones", midnight.Add(-1),
			time.Time{},
			midnight, scoreboard.StatusFrozen,
			"", wire.CodeBoardClosed,
		},
		{
			"accepted a day before the clock", midnight.Add(time.Hour), midnight.Add(-time.Hour),
			time.Time{},
			scoreboard.StatusActive, "daily:2026-11-20", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			family, yesterday, today := daily()
			m := newMemory(family, yesterday, today, board("all", scoreboard.ModeIncrement))
			ahead := noon.Add(3 * day)
			m.now = ahead
			m.record(t, increment("ada", 1, "before", "all"))
			m.now, today.Status, yesterday.Closed = c.clock, c.today, c.closed
			if !c.closed.IsZero() {
				yesterday.Status = scoreboard.StatusFrozen
			}
			ada, bob := increment("ada", 5, "e", "daily"), increment("bob", 5, "e", "daily")
			ada.Accepted, bob.Accepted = c.accepted, c.accepted
			for i, o := range m.record(t, ada, bob) {
				wantCode(t, "the increment", o.Err, c.code)
				if c.code != "" {
					continue
				}
				r := o.Receipts[0]
				if want := []time.Time{ahead, c.clock}[i]; r.Board != c.want || !r.RecordedAt.Equal(want) {
					t.Errorf("%s counted on %s at %s, want %s at %s", r.User, r.Board, r.RecordedAt, c.want, want)
				}
			}
		})
	}
}

// The score of an instance is known only after the first reads.
func TestInstanceContinuesItsScore(t *testing.T) {
	t.Parallel()
	family, yesterday, today := daily()
	m := newMemory(family, yesterday, today)
	m.record(t, increment("ada", 5, "e1", "daily"))
	o := m.record(t, increment("ada", 2, "e2", "daily"), increment("ada", 1, "e3", "daily"))
	wantReceipt(t, "the third event", o[1].Receipts[0], 8, 1, 3)
	if _, found := m.scores[ledger.ScoreKey{User: "ada", Board: "daily"}]; found {
		t.Error("the family itself has a score")
	}
}

// A retry after midnight gets the receipt of the day on which it counted.
func TestRepeatAfterThePeriod(t *testing.T) {
	t.Parallel()
	family, yesterday, today := daily()
	m := newMemory(family, yesterday, today, board("daily2", scoreboard.ModeIncrement))
	m.now = noon.Add(-day)
	in := increment("ada", 5, "e", "daily2", "daily")
	m.record(t, in)
	m.now, yesterday.Status = noon, scoreboard.StatusFrozen
	o := m.record(t, in)[0]
	wantCode(t, "the repeat", o.Err, "")
	if len(o.Receipts) != 2 || o.Receipts[0].Board != "daily2" || o.Receipts[1].Board != "daily:2026-11-20" ||
		!o.Receipts[1].Replayed {
		t.Errorf("receipts %+v, want those of daily2 and daily:2026-11-20", o.Receipts)
	}
}

// A missing instance of a calendar board is created by the caller; a season begins
// only when an operator says so.
func TestMissingInstance(t *testing.T) {
	t.Parallel()
	family, yesterday, today := daily()
	m := newMemory(family, yesterday, today)
	m.now = noon.Add(day)
	_, err := m.begin([]scoreboard.Increment{increment("ada", 1, "e", "daily")}, nil)
	var missing *ledger.MissingInstanceError
	if !errors.As(err, &missing) || missing.Family != family || !missing.Retryable() {
		t.Errorf("a day without an instance: %v, want a missing instance of daily", err)
	}
	family.Period = scoreboard.PeriodSeason
	o := m.record(t, increment("ada", 1, "e", "daily"))[0]
	wantCode(t, "between two seasons", o.Err, wire.CodeBoardClosed)
}
