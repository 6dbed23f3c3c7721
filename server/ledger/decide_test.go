package ledger_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const maxScore = scoreboard.MaxScore

func TestDeltaBounds(t *testing.T) {
	t.Parallel()
	const ok, invalid, out = "", wire.CodeInvalidRequest, wire.CodeDeltaOutOfRange
	open := scoreboard.IngestPolicy{MinDelta: math.MinInt64, MaxDelta: math.MaxInt64}
	for _, c := range []struct {
		name     string
		mode     scoreboard.Mode
		min, max int64
		delta    int64
		want     wire.Code
	}{
		{"the least", scoreboard.ModeIncrement, 1, 100, 1, ok},
		{"below the least", scoreboard.ModeIncrement, 2, 100, 1, out},
		{"the most", scoreboard.ModeIncrement, 1, 100, 100, ok},
		{"above the most", scoreboard.ModeIncrement, 1, 100, 101, out},
		{"negative", scoreboard.ModeIncrement, -5, 100, -5, ok},
		{"too negative", scoreboard.ModeIncrement, -5, 100, -6, out},
		{"zero on an increment board", scoreboard.ModeIncrement, -5, 100, 0, invalid},
		{"zero as a best score", scoreboard.ModeBest, -5, 100, 0, ok},
		{"zero as the latest score", scoreboard.ModeLatest, -5, 100, 0, ok},
		{"zero outside the bounds", scoreboard.ModeBest, 1, 100, 0, out},
		{"2^53 - 1", scoreboard.ModeIncrement, -maxScore, maxScore, maxScore, ok},
		{"-(2^53 - 1)", scoreboard.ModeLatest, -maxScore, maxScore, -maxScore, ok},
		{"2^53", scoreboard.ModeIncrement, -maxScore, maxScore, maxScore + 1, out},
		{"-2^53", scoreboard.ModeBest, -maxScore, maxScore, -maxScore - 1, out},
		{"the largest integer", scoreboard.ModeIncrement, -maxScore, maxScore, math.MaxInt64, out},
		{"the smallest integer", scoreboard.ModeIncrement, -maxScore, maxScore, math.MinInt64, out},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := board("b", c.mode)
			b.MinDelta, b.MaxDelta = c.min, c.max
			for _, policy := range []*scoreboard.IngestPolicy{nil, &open} {
				m := newMemory(b)
				m.policy = policy
				o := m.record(t, increment("ada", c.delta, "e", "b"))[0]
				wantCode(t, "the increment", o.Err, c.want)
				if c.want == ok {
					wantReceipt(t, "the increment", o.Receipts[0], scoreboard.Score(c.delta), c.delta, 1)
				}
			}
		})
	}
}

// The bounds of the installation hold whatever the board allows.
func TestPolicyDeltaBounds(t *testing.T) {
	t.Parallel()
	m := newMemory(board("b", scoreboard.ModeIncrement))
	m.policy = &scoreboard.IngestPolicy{MinDelta: -3, MaxDelta: 7}
	for delta, want := range map[int64]wire.Code{
		-4: wire.CodeDeltaOutOfRange, -3: "", 7: "", 8: wire.CodeDeltaOutOfRange,
	} {
		o := m.record(t, increment("ada", delta, fmt.Sprint("e", delta), "b"))[0]
		wantCode(t, "the increment", o.Err, want)
	}
}

// An increment that counts only if it is better leaves nothing behind otherwise, and its id
// is free for another.
func TestOnlyIfBetter(t *testing.T) {
	t.Parallel()
	m := newMemory(board("b", scoreboard.ModeBest))
	plain := func(delta int64, event string) scoreboard.Increment {
		in := increment("ada", delta, event, "b")
		in.OnlyIfBetter = true
		return in
	}
	outcomes := m.record(t, plain(10, "e1"), plain(10, "e2"), plain(7, "e3"), plain(12, "e2"), plain(11, "e4"))
	for i, want := range []struct {
		score    scoreboard.Score
		applied  int64
		version  int64
		recorded bool
	}{{10, 10, 1, true}, {10, 0, 1, false}, {10, 0, 1, false}, {12, 2, 2, true}, {12, 0, 2, false}} {
		o := outcomes[i]
		wantCode(t, "the increment", o.Err, "")
		wantReceipt(t, fmt.Sprint("increment ", i), o.Receipts[0], want.score, want.applied, want.version)
		if o.Receipts[0].NotRecorded == want.recorded {
			t.Errorf("increment %d: NotRecorded is %t", i, o.Receipts[0].NotRecorded)
		}
	}
	again := m.record(t, plain(10, "e1"), plain(9, "e5"), increment("ada", 3, "e6", "b"))
	if r := again[0].Receipts[0]; !r.Replayed || r.NewScore != 10 || r.Version != 1 {
		t.Errorf("a repeat got %+v", r)
	}
	if r := again[1].Receipts[0]; !r.NotRecorded || r.NewScore != 12 || r.Previous == nil || *r.Previous != 12 {
		t.Errorf("a lower score got %+v", r)
	}
	wantReceipt(t, "a lower score that counts", again[2].Receipts[0], 12, 0, 3)
}

func TestScoreBounds(t *testing.T) {
	t.Parallel()
	const out = wire.CodeScoreOutOfRange
	for _, c := range []struct {
		name     string
		mode     scoreboard.Mode
		min, max scoreboard.Score
		before   int64 // 0: none
		delta    int64
		want     wire.Code
		score    scoreboard.Score
	}{
		{"up to the most", scoreboard.ModeIncrement, 0, 10, 7, 3, "", 10},
		{"above the most", scoreboard.ModeIncrement, 0, 10, 7, 4, out, 7},
		{"down to the least", scoreboard.ModeIncrement, 0, 10, 7, -7, "", 0},
		{"below the least", scoreboard.ModeIncrement, 0, 10, 7, -8, out, 7},
		{"a best score above the most", scoreboard.ModeBest, 0, 10, 7, 11, out, 7},
		{"a worse score below the least", scoreboard.ModeBest, 0, 10, 7, -1, "", 7},
		{"a latest score below the least", scoreboard.ModeLatest, 0, 10, 7, -1, out, 7},
		{"up to 2^53 - 1", scoreboard.ModeIncrement, -maxScore, maxScore, maxScore - 1, 1, "", scoreboard.MaxScore},
		{"up to 2^53", scoreboard.ModeIncrement, -maxScore, maxScore, maxScore, 1, out, scoreboard.MaxScore},
		{
			"down to -(2^53 - 1)", scoreboard.ModeIncrement, -maxScore, maxScore, 1 - maxScore, -1, "",
			-scoreboard.MaxScore,
		},
		{"down to -2^53", scoreboard.ModeIncrement, -maxScore, maxScore, -maxScore, -1, out, -scoreboard.MaxScore},
		{"twice 2^53 - 1", scoreboard.ModeIncrement, -maxScore, maxScore, maxScore, maxScore, out, scoreboard.MaxScore},
		{
			"2^53 without bounds", scoreboard.ModeIncrement, math.MinInt64, math.MaxInt64, maxScore, 1, out,
			scoreboard.MaxScore,
		},
		{
			"-2^53 without bounds", scoreboard.ModeIncrement, math.MinInt64, math.MaxInt64, -maxScore, -1, out,
			-scoreboard.MaxScore,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := board("b", c.mode)
			m := newMemory(b)
			wantCode(t, "the score before", m.record(t, increment("ada", c.before, "before", "b"))[0].Err, "")
			b.MinScore, b.MaxScore = c.min, c.max
			o := m.record(t, increment("ada", c.delta, "e", "b"))[0]
			wantCode(t, "the increment", o.Err, c.want)
			if got := m.standing("ada", "b").score; got != c.score {
				t.Errorf("score %d, want %d", got, c.score)
			}
		})
	}
}

// Versions count every event, revisions only those that change the standing.
func TestModes(t *testing.T) {
	t.Parallel()
	type step struct {
		delta    int64
		score    scoreboard.Score
		applied  int64
		revision int64
	}
	for _, c := range []struct {
		name  string
		board *scoreboard.Board
		first *scoreboard.Score // the previous score of the first receipt
		steps []step
	}{
		{
			"increment", board("b", scoreboard.ModeIncrement), new(scoreboard.Score),
			[]step{{5, 5, 5, 1}, {3, 8, 3, 2}, {-8, 0, -8, 3}, {-1, -1, -1, 4}, {1, 0, 1, 5}},
		},
		{
			"best, highest", board("b", scoreboard.ModeBest), nil,
			[]step{{-5, -5, -5, 1}, {-6, -5, 0, 1}, {-5, -5, 0, 1}, {0, 0, 5, 2}, {7, 7, 7, 3}, {6, 7, 0, 3}},
		},
		{
			"best, lowest", lowest("b"), nil,
			[]step{{5, 5, 5, 1}, {6, 5, 0, 1}, {5, 5, 0, 1}, {0, 0, -5, 2}, {-7, -7, -7, 3}, {-6, -7, 0, 3}},
		},
		{
			"latest", board("b", scoreboard.ModeLatest), nil,
			[]step{{5, 5, 5, 1}, {3, 3, -2, 2}, {3, 3, 0, 2}, {0, 0, -3, 3}, {0, 0, 0, 3}},
		},
		{"a first score of 0", board("b", scoreboard.ModeBest), nil, []step{{0, 0, 0, 1}, {0, 0, 0, 1}}},
	} {
		var items []scoreboard.Increment
		for i, s := range c.steps {
			items = append(items, increment("ada", s.delta, fmt.Sprint("e", i), "b"))
		}
		check := func(t *testing.T, m *memory, outcomes []scoreboard.Outcome) {
			t.Helper()
			previous := c.first
			for i, s := range c.steps {
				wantCode(t, "step", outcomes[i].Err, "")
				r := outcomes[i].Receipts[0]
				wantReceipt(t, "step", r, s.score, s.applied, int64(i+1))
				if (r.Previous == nil) != (previous == nil) || previous != nil && *r.Previous != *previous {
					t.Errorf("step %d: previous score %v, want %v", i, r.Previous, previous)
				}
				previous = &c.steps[i].score
				if got := m.rows[i]; got.revision != s.revision || got.key != c.board.Order.Key(s.score) ||
					got.delta != s.delta {
					t.Errorf("step %d: delta %d, revision %d, key %d; want %d, %d, %d",
						i, got.delta, got.revision, got.key, s.delta, s.revision, c.board.Order.Key(s.score))
				}
			}
		}
		t.Run(c.name+"/in one batch", func(t *testing.T) {
			t.Parallel()
			m := newMemory(c.board)
			check(t, m, m.record(t, items...))
		})
		t.Run(c.name+"/one at a time", func(t *testing.T) {
			t.Parallel()
			m := newMemory(c.board)
			var all []scoreboard.Outcome
			for _, in := range items {
				all = append(all, m.record(t, in)...)
			}
			check(t, m, all)
		})
	}
}

// A score that does not change keeps the time when it was reached.
func TestReachedAtMovesWithTheScoreOnly(t *testing.T) {
	t.Parallel()
	m := newMemory(board("b", scoreboard.ModeBest))
	key := ledger.ScoreKey{User: "ada", Board: "b"}
	first := m.now
	m.record(t, increment("ada", 5, "e1", "b"))
	m.record(t, increment("ada", 4, "e2", "b"))
	if got := m.scores[key].ReachedAt; !got.Equal(first) {
		t.Errorf("after a worse score: reached at %s, want %s", got, first)
	}
	second := m.now
	m.record(t, increment("ada", 6, "e3", "b"))
	if got := m.scores[key].ReachedAt; !got.Equal(second) {
		t.Errorf("after a better score: reached at %s, want %s", got, second)
	}
	if got := m.rows[1].receipt.RecordedAt; !got.Equal(first.Add(time.Second)) {
		t.Errorf("the worse score is recorded at %s, want %s", got, first.Add(time.Second))
	}
}

// Several increments of a user in one batch are one row each, and the last one is
// the state of the score.
func TestIncrementsOfOneBatchAddUp(t *testing.T) {
	t.Parallel()
	m := newMemory(board("a", scoreboard.ModeIncrement), board("b", scoreboard.ModeIncrement))
	m.record(t, increment("ada", 10, "before", "a"))
	b, err := m.begin([]scoreboard.Increment{
		increment("ada", 1, "e1", "a"),
		increment("bob", 7, "e1", "a"),
		increment("ada", 2, "e2", "a", "b"),
		increment("ada", 3, "e3", "nowhere"),
		increment("ada", 4, "e4", "b"),
		increment("ada", 5, "e5", "a"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Decide()
	wantCode(t, "an unknown board", b.Outcomes[3].Err, wire.CodeNotFound)
	if got, want := b.Rows.Scores, []int64{11, 7, 13, 2, 6, 18}; !slices.Equal(got, want) {
		t.Errorf("scores %v, want %v", got, want)
	}
	if got, want := b.Rows.Versions, []int64{2, 1, 3, 1, 2, 4}; !slices.Equal(got, want) {
		t.Errorf("versions %v, want %v", got, want)
	}
	if got, want := b.Rows.Last, []bool{false, true, false, false, true, true}; !slices.Equal(got, want) {
		t.Errorf("last %v, want %v", got, want)
	}
	m.commit(t, b)
}

func TestRepeatGetsTheOriginalReceipt(t *testing.T) {
	t.Parallel()
	m := newMemory(board("a", scoreboard.ModeIncrement), board("b", scoreboard.ModeIncrement))
	in := increment("ada", 5, "e", "b", "a")
	inBatch := m.record(t, in, increment("ada", 1, "later", "a"), in)
	// Neither the token nor the board accepts anything new.
	late := in
	late.Objection = scoreboard.Errorf(wire.CodeRuleViolated, "expired")
	m.boards[0].Status = scoreboard.StatusFrozen
	m.policy = &scoreboard.IngestPolicy{MinDelta: 100, MaxDelta: 100}
	later := m.record(t, late)
	for i, o := range []scoreboard.Outcome{inBatch[2], later[0]} {
		wantCode(t, "the repeat", o.Err, "")
		if len(o.Receipts) != 2 {
			t.Fatalf("repeat %d: %d receipts, want 2", i, len(o.Receipts))
		}
		for n, r := range o.Receipts {
			want := inBatch[0].Receipts[n]
			if !r.Replayed || want.Replayed || r.Board != in.Boards[n] {
				t.Errorf("repeat %d on board %s: replayed %t, want a replay on %s",
					i, r.Board, r.Replayed, in.Boards[n])
			}
			if !r.RecordedAt.Equal(want.RecordedAt) || r.Event != in.Event || r.User != "ada" || *r.Previous != 0 {
				t.Errorf("repeat %d: %+v, want %+v", i, r, want)
			}
			wantReceipt(t, "the repeat", r, 5, 5, 1)
		}
	}
	if len(m.rows) != 3 {
		t.Errorf("%d rows, want 3", len(m.rows))
	}
	if got := m.standing("ada", "a"); got.score != 6 || got.version != 2 {
		t.Errorf("%+v, want a score of 6 at version 2", got)
	}
}

// The same id with anything else that a retry must not change is a conflict, in the
// same batch and later. What a retry may change is not.
func TestSameIDWithAnotherPayload(t *testing.T) {
	t.Parallel()
	const conflict = wire.CodeEventConflict
	edit := func(f func(*scoreboard.Increment)) scoreboard.Increment {
		in := increment("ada", 5, "e", "a")
		f(&in)
		return in
	}
	for _, c := range []struct {
		name string
		in   scoreboard.Increment
		want wire.Code
	}{
		{"delta", increment("ada", 6, "e", "a"), conflict},
		{"board", increment("ada", 5, "e", "b"), conflict},
		{"one board more", increment("ada", 5, "e", "a", "b"), conflict},
		{"action", edit(func(in *scoreboard.Increment) { in.Action = "chop" }), conflict},
		{"an unknown board", increment("ada", 5, "e", "c"), conflict},
		{"a delta out of range", increment("ada", maxScore+1, "e", "a"), conflict},
		{"signature, time and address", edit(func(in *scoreboard.Increment) {
			in.KeyID, in.Client, in.Address, in.Signer, in.Agent, in.Attested = "k", noon, "::1", "s", "a", true
		}), ""},
		{"spelling of the id", edit(func(in *scoreboard.Increment) { in.Event.Text = "E" }), ""},
		{"another user", increment("bob", 6, "e", "b"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			original := increment("ada", 5, "e", "a")
			m := newMemory(board("a", scoreboard.ModeIncrement), board("b", scoreboard.ModeIncrement))
			wantCode(t, "in the same batch", m.record(t, original, c.in)[1].Err, c.want)
			m = newMemory(m.boards...)
			m.record(t, original)
			wantCode(t, "later", m.record(t, c.in)[0].Err, c.want)
			if got := m.standing("ada", "a"); got.score != 5 || got.version != 1 {
				t.Errorf("%+v, want the original score", got)
			}
		})
	}
}

// A rejected event is not known: its id can be used with another payload.
func TestRejectedEventIsNotKnown(t *testing.T) {
	t.Parallel()
	b := board("b", scoreboard.ModeIncrement)
	b.MaxDelta = 5
	m := newMemory(b)
	outcomes := m.record(t, increment("ada", 6, "e", "b"), increment("ada", 5, "e", "b"), increment("ada", 6, "e", "b"))
	for i, want := range []wire.Code{wire.CodeDeltaOutOfRange, "", wire.CodeEventConflict} {
		wantCode(t, "the increment", outcomes[i].Err, want)
	}
}

func TestSeveralBoardsAreAllOrNothing(t *testing.T) {
	t.Parallel()
	full, frozen := board("full", scoreboard.ModeIncrement), board("frozen", scoreboard.ModeIncrement)
	full.MaxScore = 4
	frozen.Status = scoreboard.StatusFrozen
	small, proven := board("small", scoreboard.ModeIncrement), board("proven", scoreboard.ModeIncrement)
	small.MaxDelta = 4
	proven.Require.Attestation = true
	for name, want := range map[scoreboard.BoardID]wire.Code{
		"good3":   "",
		"full":    wire.CodeScoreOutOfRange,
		"small":   wire.CodeDeltaOutOfRange,
		"frozen":  wire.CodeBoardClosed,
		"proven":  wire.CodeRuleViolated,
		"best":    wire.CodeRuleViolated, // mixed modes
		"nowhere": wire.CodeNotFound,
	} {
		for at := range 3 {
			boards := slices.Insert([]scoreboard.BoardID{"good1", "good2"}, at, name)
			t.Run(fmt.Sprintf("%s/%d", name, at), func(t *testing.T) {
				t.Parallel()
				m := newMemory(board("good1", scoreboard.ModeIncrement), board("good2", scoreboard.ModeIncrement),
					board("good3", scoreboard.ModeIncrement), board("best", scoreboard.ModeBest),
					full, frozen, small, proven)
				outcomes := m.record(t, increment("ada", 1, "e1", "good1"), increment("ada", 5, "e2", boards...))
				wantCode(t, "the increment", outcomes[1].Err, want)
				if want != "" {
					if len(m.rows) != 1 || len(outcomes[1].Receipts) != 0 {
						t.Errorf("%d rows, receipts %+v; want only the first increment",
							len(m.rows), outcomes[1].Receipts)
					}
					return
				}
				for i, r := range outcomes[1].Receipts {
					if r.Board != boards[i] {
						t.Errorf("receipt %d is of board %s, want %s", i, r.Board, boards[i])
					}
				}
			})
		}
	}
}

func TestStatusOfTheUser(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]wire.Code{
		scoreboard.UserActive: "",
		scoreboard.UserFrozen: wire.CodeForbidden,
		scoreboard.UserBanned: wire.CodeForbidden,
		scoreboard.UserErased: wire.CodeGone,
	} {
		m := newMemory(board("b", scoreboard.ModeIncrement))
		known := increment("ada", 1, "known", "b")
		m.record(t, known)
		m.setStatus("ada", status)
		outcomes := m.record(t, increment("ada", 1, "e", "b"), known, increment("bob", 1, "e", "b"))
		wantCode(t, status, outcomes[0].Err, want)
		wantCode(t, status+", a repeat", outcomes[1].Err, want)
		wantCode(t, "another user of the batch", outcomes[2].Err, "")
	}
}

func TestStatusOfTheBoard(t *testing.T) {
	t.Parallel()
	for status, want := range map[scoreboard.Status]wire.Code{
		scoreboard.StatusActive:   "",
		scoreboard.StatusFrozen:   wire.CodeBoardClosed,
		scoreboard.StatusArchived: wire.CodeBoardClosed,
	} {
		b := board("b", scoreboard.ModeIncrement)
		b.Status = status
		wantCode(t, string(status), newMemory(b).record(t, increment("ada", 1, "e", "b"))[0].Err, want)
	}
}

// A user is kept only if something is recorded for the user.
func TestRejectedInputLeavesNoUser(t *testing.T) {
	t.Parallel()
	m := newMemory(board("b", scoreboard.ModeIncrement))
	m.record(t, increment("old", 1, "e", "b"))
	b, err := m.begin([]scoreboard.Increment{
		increment("old", 0, "zero", "b"),
		increment("bad", 0, "e", "b"),
		increment("mixed", 0, "e1", "b"), increment("mixed", 1, "e2", "b"),
		increment("good", 1, "e", "b"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Decide()
	if got := b.UnusedUsers(); !slices.Equal(got, []string{"bad"}) {
		t.Errorf("unused users %v, want bad", got)
	}
}

// Users are locked in byte order: two batches in any other order would deadlock.
func TestReadsAreInByteOrder(t *testing.T) {
	t.Parallel()
	b := ledger.NewBatch([]scoreboard.Increment{
		increment("b", 1, "e", "y", "x"), increment("a", 1, "e", "z"), increment("B", 1, "e", "x"),
		increment("b", 1, "e2", "x"),
	}, shards, nil)
	if want := []string{"B", "a", "b"}; !slices.Equal(b.UserNames, want) {
		t.Errorf("users %v, want %v", b.UserNames, want)
	}
	if want := []string{"x", "y", "z"}; !slices.Equal(b.BoardNames, want) {
		t.Errorf("boards %v, want %v", b.BoardNames, want)
	}
	if len(b.Scores.Users) != 4 {
		t.Errorf("scores of %v on %v, want each pair once", b.Scores.Users, b.Scores.Boards)
	}
}

func TestOptionalColumnsOfRows(t *testing.T) {
	t.Parallel()
	m := newMemory(board("b", scoreboard.ModeIncrement))
	uuid := "3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b"
	full := increment("ada", 2, "text", "b")
	full.Action, full.KeyID, full.Signer, full.Address = "chop", "key", "signer", "::1"
	full.Agent, full.Country, full.Trace, full.Client = "agent", "DE", "trace", noon
	b, err := m.begin([]scoreboard.Increment{
		increment("ada", 1, uuid, "b"), full, increment("ada", 3, uuid[:35]+"c", "b"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Decide()
	r := &b.Rows
	for _, c := range []struct {
		name   string
		column []*string
		want   string
	}{
		{"event text", r.EventTexts, "text"},
		{"action", r.Actions, "chop"},
		{"key", r.Keys, "key"},
		{"signer", r.Signers, "signer"},
		{"address", r.Addresses, "::1"},
		{"agent", r.Agents, "agent"},
		{"country", r.Countries, "DE"},
		{"trace", r.Traces, "trace"},
	} {
		if len(c.column) != 2 || c.column[0] != nil || *c.column[1] != c.want {
			t.Errorf("%s: %v, want null, %s", c.name, c.column, c.want)
		}
	}
	if len(r.ClientTimes) != 2 || r.ClientTimes[0] != nil || !r.ClientTimes[1].Equal(noon) {
		t.Errorf("client times %v, want null, %s", r.ClientTimes, noon)
	}
	if len(r.Hidden) != 0 || len(r.Empty) != 0 {
		t.Errorf("hidden %v, empty %v; want none for increments", r.Hidden, r.Empty)
	}
}

// A user's shard must never change: two relays would publish one user's rows out of
// order.
func TestShardOfAUserIsStable(t *testing.T) {
	t.Parallel()
	counts := make([]int, shards)
	for i := range 1000 {
		counts[ledger.Shard(scoreboard.UserID(fmt.Sprint("user-", i)), shards)]++
	}
	for shard, n := range counts {
		if n < 150 || n > 350 {
			t.Errorf("shard %d has %d of 1000 users", shard, n)
		}
	}
	for user, want := range map[scoreboard.UserID]int16{"alice": 7, "bob": 4, "": 5} {
		if got := ledger.Shard(user, 16); got != want {
			t.Errorf("shard of %q is %d, want %d", user, got, want)
		}
	}
}
