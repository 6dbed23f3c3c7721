package ledger_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// tokenOf returns an action token of a user for board b, and an increment that
// presents it at noon.
func tokenOf(user scoreboard.UserID, id byte, event string) (scoreboard.Action, scoreboard.Increment) {
	a := scoreboard.Action{
		ID: [16]byte{id}, User: user, Boards: []scoreboard.BoardID{"b"}, MaxDelta: 100,
		Issued: noon.Add(-time.Minute), Expires: noon.Add(time.Minute), MinTime: time.Second,
	}
	in := increment(user, 5, event, "b")
	in.ActionID = a.ID
	return a, in
}

func tokenBoard() *scoreboard.Board {
	b := board("b", scoreboard.ModeIncrement)
	b.Require.ActionToken = true
	return b
}

func TestTokenIsRequired(t *testing.T) {
	t.Parallel()
	_, in := tokenOf("ada", 1, "with")
	o := newMemory(tokenBoard()).record(t, increment("ada", 5, "without", "b"), in)
	wantCode(t, "without a token", o[0].Err, wire.CodeRuleViolated)
	wantCode(t, "with a token", o[1].Err, "")
}

// A token is good for one event, however often that is repeated.
func TestTokenCountsForOneEvent(t *testing.T) {
	t.Parallel()
	_, in := tokenOf("ada", 1, "e1")
	_, another := tokenOf("ada", 1, "e2")
	_, fresh := tokenOf("ada", 2, "e3")
	m := newMemory(tokenBoard())
	check := func(what string, outcomes []scoreboard.Outcome, want ...wire.Code) {
		t.Helper()
		for i, o := range outcomes {
			wantCode(t, what, o.Err, want[i])
		}
	}
	const used = wire.CodeTokenUsed
	check("in one batch", m.record(t, in, another, in), "", used, "")
	check("later", m.record(t, another, in, fresh), used, "", "")
	if got := m.standing("ada", "b"); got.score != 10 {
		t.Errorf("score %d, want 10", got.score)
	}
	if want := map[[16]byte][16]byte{{1}: in.Event.UUID, {2}: fresh.Event.UUID}; len(m.tokens) != 2 ||
		m.tokens[[16]byte{1}] != want[[16]byte{1}] || m.tokens[[16]byte{2}] != want[[16]byte{2}] {
		t.Errorf("used tokens %v, want %v", m.tokens, want)
	}
}

// A rejected increment does not use its token up.
func TestRejectedIncrementKeepsItsToken(t *testing.T) {
	t.Parallel()
	_, tooMuch := tokenOf("ada", 1, "e1")
	tooMuch.Delta = maxScore + 1
	_, in := tokenOf("ada", 1, "e2")
	b, err := newMemory(tokenBoard()).begin([]scoreboard.Increment{tooMuch, in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Decide()
	wantCode(t, "out of range", b.Outcomes[0].Err, wire.CodeDeltaOutOfRange)
	wantCode(t, "the next event", b.Outcomes[1].Err, "")
	if !slices.Equal(b.Tokens.Used, [][16]byte{{1}}) || !slices.Equal(b.Tokens.UsedFor, [][16]byte{in.Event.UUID}) {
		t.Errorf("used %v for %v, want the token once for the second event", b.Tokens.Used, b.Tokens.UsedFor)
	}
}

// What a token does not permit is rejected, unless the event is known.
func TestTokenOutsideItsBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		at    time.Time
		delta int64
		want  wire.Code
	}{
		{"at its end", noon.Add(time.Minute), 5, ""},
		{"after its end", noon.Add(time.Minute + 1), 5, wire.CodeRuleViolated},
		{"as soon as possible", noon.Add(-59 * time.Second), 5, ""},
		{"too soon", noon.Add(-59*time.Second - 1), 5, wire.CodeRuleViolated},
		{"the largest delta", noon, 100, ""},
		{"a larger delta", noon, 101, wire.CodeDeltaOutOfRange},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			action, in := tokenOf("ada", 1, "e")
			in.Delta = c.delta
			late := in
			late.Objection = action.Objection(&in, c.at)
			m := newMemory(tokenBoard())
			wantCode(t, "a new event", m.record(t, late)[0].Err, c.want)
			m = newMemory(tokenBoard())
			wantCode(t, "the event in time", m.record(t, in)[0].Err, "")
			o := m.record(t, late)[0]
			wantCode(t, "its repeat", o.Err, "")
			if !o.Receipts[0].Replayed {
				t.Error("the repeat is not a replay")
			}
		})
	}
}

// Another user's token is no token: it is refused before the ledger, and a token
// that a user has used is used for everybody.
func TestTokenOfAnotherUser(t *testing.T) {
	t.Parallel()
	action, ada := tokenOf("ada", 1, "e")
	_, bob := tokenOf("bob", 1, "e")
	wantCode(t, "ada's increment", action.Covers(&ada), "")
	wantCode(t, "bob's increment", action.Covers(&bob), wire.CodeForbidden)
	o := newMemory(tokenBoard()).record(t, ada, bob)
	wantCode(t, "ada's increment", o[0].Err, "")
	wantCode(t, "bob's increment", o[1].Err, wire.CodeTokenUsed)
}

// A board that is tightened holds for actions that were started before.
func TestTightenedBoardHoldsForOldActions(t *testing.T) {
	t.Parallel()
	start := func(id byte, took time.Duration) scoreboard.Increment {
		_, in := tokenOf("ada", id, fmt.Sprint("e", id))
		in.ActionTime = scoreboard.ActionTime{Started: noon.Add(-took), Ended: noon, Min: time.Second}
		return in
	}
	tight := tokenBoard()
	tight.Require.MinActionTime, tight.Require.ActionTTL = 30*time.Second, 10*time.Minute
	m := newMemory(tight)
	cases := []struct {
		took time.Duration
		want wire.Code
	}{
		{20 * time.Second, wire.CodeRuleViolated}, // enough when it was started
		{11 * time.Minute, wire.CodeRuleViolated}, // would not have expired yet
		{10 * time.Minute, ""},
		{40 * time.Second, ""},
		{50 * time.Second, wire.CodeRuleViolated}, // after the one before, 30 s more
	}
	var batch []scoreboard.Increment
	for id, c := range cases {
		batch = append(batch, start(byte(id+1), c.took))
	}
	for i, o := range m.record(t, batch...) {
		wantCode(t, cases[i].took.String(), o.Err, cases[i].want)
	}
}
