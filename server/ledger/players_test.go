package ledger_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// tournament is a season that users must join, with one period at noon.
func tournament() (family, spring *scoreboard.Board) {
	family = board("cup", scoreboard.ModeBest)
	family.Period, family.Join.Required = scoreboard.PeriodSeason, true
	return family, instance(family, "spring", noon.Add(-day/2))
}

// Only what users submit who have joined the period counts; repeats are answered before that.
func TestOnlyPlayersCount(t *testing.T) {
	t.Parallel()
	family, spring := tournament()
	m := newMemory(family, spring, board("free", scoreboard.ModeBest))
	ada := ledger.ScoreKey{User: "ada", Board: spring.ID}
	m.players[ada] = true
	got := m.record(t, increment("ada", 5, "e1", "cup"), increment("bob", 5, "e1", "cup"),
		increment("bob", 5, "e2", "free"), increment("ada", 6, "e2", "cup"))
	for i, want := range []wire.Code{"", wire.CodeNotJoined, "", ""} {
		wantCode(t, "in a batch", got[i].Err, want)
	}
	both := m.record(t, increment("bob", 5, "e3", "free", "cup"), increment("cy", 5, "e3", "cup", "free"))
	wantCode(t, "on several boards", both[0].Err, wire.CodeNotJoined)
	wantCode(t, "on several boards", both[1].Err, wire.CodeNotJoined)
	if s := m.standing("bob", "free"); s.score != 5 || m.standing("cy", "free").exists {
		t.Errorf("a rejected event counts: %+v", s)
	}
	delete(m.players, ada)
	again := m.record(t, increment("ada", 5, "e1", "cup"), increment("ada", 7, "e4", "cup"))
	wantCode(t, "a repeat of a removed player", again[0].Err, "")
	if !again[0].Receipts[0].Replayed {
		t.Errorf("got %+v, want the first receipt", again[0])
	}
	wantCode(t, "a removed player", again[1].Err, wire.CodeNotJoined)
	if _, replayed := m.adjust(t, "ada", -3, "a1", spring.ID); replayed {
		t.Error("a correction of a removed player is not recorded")
	}
}

// The period in which an event was accepted is the one that must be joined.
func TestPlayersOfThePeriodOfAcceptance(t *testing.T) {
	t.Parallel()
	family, spring := tournament()
	summer := instance(family, "summer", spring.PeriodEnd)
	m := newMemory(family, spring, summer)
	m.players[ledger.ScoreKey{User: "ada", Board: spring.ID}] = true
	m.players[ledger.ScoreKey{User: "bob", Board: summer.ID}] = true
	m.now = summer.PeriodStart.Add(1) // within the grace
	var batch []scoreboard.Increment
	for _, user := range []scoreboard.UserID{"ada", "bob"} {
		late := increment(user, 5, "accepted", "cup")
		late.Source, late.Accepted = scoreboard.SourceAsync, spring.PeriodEnd.Add(-1)
		batch = append(batch, late, increment(user, 5, "now", "cup"))
	}
	for i, want := range []wire.Code{"", wire.CodeNotJoined, wire.CodeNotJoined, ""} {
		wantCode(t, batch[i].Event.Text, m.record(t, batch[i])[0].Err, want)
	}
}

// Who has not joined a board that a rule adds plays on the others.
func TestRulesSkipPeriodsNotJoined(t *testing.T) {
	t.Parallel()
	family, spring := tournament()
	m := newMemory(board("global", scoreboard.ModeBest), family, spring)
	m.players[ledger.ScoreKey{User: "ada", Board: spring.ID}] = true
	for user, want := range map[scoreboard.UserID]int{"ada": 2, "bob": 1} {
		in := increment(user, 5, "e1", "global")
		in.ByRules, in.Matched = true, []scoreboard.BoardID{"cup"}
		got := m.record(t, in)[0]
		if got.Err != nil || len(got.Receipts) != want {
			t.Errorf("%s: got %+v, want %d receipts", user, got, want)
		}
	}
}
