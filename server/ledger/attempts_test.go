package ledger_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func attemptsLeft(m *memory, b *scoreboard.Board, user scoreboard.UserID) int64 {
	s := m.scores[ledger.ScoreKey{User: user, Board: b.ID}]
	return *b.AttemptsLeft(s.Version - s.Uncounted)
}

// A repeat and a rejected event use no attempt, and a reversal gives one back.
func TestAttemptsAreCounted(t *testing.T) {
	t.Parallel()
	b := board("cup", scoreboard.ModeBest)
	b.Attempts, b.MaxDelta = 2, 100
	m := newMemory(b, board("free", scoreboard.ModeBest))
	for i, step := range []struct {
		event string
		delta int64
		code  wire.Code
		left  int64
	}{
		{"e1", 50, "", 1},
		{"e1", 50, "", 1},
		{"e1", 51, wire.CodeEventConflict, 1},
		{"e2", 101, wire.CodeDeltaOutOfRange, 1},
		{"e2", 10, "", 0}, // no improvement
		{"e3", 60, wire.CodeAttemptsUsed, 0},
		{"e1", 50, "", 0},
	} {
		got := m.record(t, increment("ada", step.delta, step.event, "cup"))[0]
		wantCode(t, fmt.Sprint("step ", i), got.Err, step.code)
		if left := attemptsLeft(m, b, "ada"); left != step.left {
			t.Errorf("step %d: %d attempts left, want %d", i, left, step.left)
		}
	}
	// On none of the boards, and other users are not concerned.
	both := m.record(t, increment("ada", 5, "e4", "free", "cup"), increment("bob", 5, "e4", "free", "cup"))
	wantCode(t, "both boards", both[0].Err, wire.CodeAttemptsUsed)
	wantCode(t, "bob", both[1].Err, "")
	if s := m.standing("ada", "free"); s.exists {
		t.Errorf("ada is on free: %+v", s)
	}

	m.correct(t, ledger.Correction{}, m.event(t, "ada", mustEvent("ada", "e2")))
	if left := attemptsLeft(m, b, "ada"); left != 1 {
		t.Errorf("%d attempts left after a reversal, want 1", left)
	}
	if _, replayed := m.adjust(t, "ada", -3, "a1", "cup"); replayed || attemptsLeft(m, b, "ada") != 1 {
		t.Error("an adjustment uses an attempt")
	}
	wantCode(t, "after the reversal", m.record(t, increment("ada", 60, "e5", "cup"))[0].Err, "")
	wantCode(t, "the next", m.record(t, increment("ada", 61, "e6", "cup"))[0].Err, wire.CodeAttemptsUsed)

	b.Attempts = 3 // what is recorded counts
	wantCode(t, "of three", m.record(t, increment("ada", 61, "e6", "cup"))[0].Err, "")
	wantCode(t, "of three", m.record(t, increment("ada", 62, "e7", "cup"))[0].Err, wire.CodeAttemptsUsed)
}

func mustEvent(user scoreboard.UserID, text string) scoreboard.EventID {
	return increment(user, 1, text).Event
}

// An undone void takes the attempts that it gave back.
func TestVoidsGiveAttemptsBack(t *testing.T) {
	t.Parallel()
	b := board("cup", scoreboard.ModeIncrement)
	b.Attempts = 3
	m := newMemory(b)
	var events []ledger.Event
	for i := range 3 {
		m.record(t, increment("ada", 1, fmt.Sprint(i), "cup"))
		events = append(events, m.event(t, "ada", mustEvent("ada", fmt.Sprint(i))))
	}
	void := int64(1)
	for _, step := range []struct {
		undo bool
		left int64
	}{{false, 3}, {false, 3}, {true, 0}, {false, 3}} {
		m.correct(t, ledger.Correction{Void: &void, Undo: step.undo}, events...)
		if left := attemptsLeft(m, b, "ada"); left != step.left {
			t.Errorf("%d attempts left, want %d after undo %t", left, step.left, step.undo)
		}
	}
}

// Each period has its attempts, and the error says when the next one begins.
func TestAttemptsOfPeriods(t *testing.T) {
	t.Parallel()
	midnight := noon.Add(-day / 2)
	family := board("daily", scoreboard.ModeIncrement)
	family.Period, family.Attempts = scoreboard.PeriodDaily, 1
	today, tomorrow := instance(family, "2026-11-21", midnight), instance(family, "2026-11-22", midnight.Add(day))
	season := board("season", scoreboard.ModeIncrement)
	season.Period, season.Attempts = scoreboard.PeriodSeason, 1
	spring := instance(season, "spring", midnight)
	m := newMemory(family, today, tomorrow, season, spring)
	reset := func(user scoreboard.UserID, name scoreboard.BoardID, event string) time.Time {
		t.Helper()
		wantCode(t, event, m.record(t, increment(user, 1, event, name))[0].Err, "")
		err := m.record(t, increment(user, 1, event+"again", name))[0].Err
		wantCode(t, event+" again", err, wire.CodeAttemptsUsed)
		var e *scoreboard.Error
		errors.As(err, &e)
		return e.NextReset
	}
	if got := reset("ada", "daily", "e1"); !got.Equal(today.PeriodEnd) {
		t.Errorf("the next period begins at %s, want %s", got, today.PeriodEnd)
	}
	if got := reset("ada", "season", "e2"); !got.IsZero() {
		t.Errorf("the next season begins at %s, and none is planned", got)
	}
	m.now = tomorrow.PeriodStart
	reset("ada", "daily", "e3")
	m.boards = append(m.boards, instance(season, "summer", midnight.Add(3*day)))
	m.now = noon
	if got := reset("bob", "season", "e4"); !got.Equal(midnight.Add(3 * day)) {
		t.Errorf("the next season begins at %s, want %s", got, midnight.Add(3*day))
	}
}
