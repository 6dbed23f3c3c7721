package ledger_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// reverse reverses one recorded event.
func (m *memory) reverse(t *testing.T, user scoreboard.UserID, event string) scoreboard.Outcome {
	t.Helper()
	in := increment(user, 1, event, "b")
	return m.correct(t, ledger.Correction{}, m.event(t, user, in.Event))[0]
}

// void reverses or restores the events of a user as part of a void.
func (m *memory) void(
	t *testing.T, void int64, undo bool, user scoreboard.UserID, events ...string,
) []scoreboard.Outcome {
	t.Helper()
	var all []ledger.Event
	for _, event := range events {
		in := increment(user, 1, event, "b")
		all = append(all, m.event(t, user, in.Event))
	}
	return m.correct(t, ledger.Correction{Undo: undo, Void: &void}, all...)
}

func TestReverse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		board   *scoreboard.Board
		deltas  []int64 // of e0, e1, …
		reverse []string
		want    scoreboard.Score
		exists  bool
		reached int // index of the event at which the score was reached; -1: at the reversal
	}{
		{"increment, the first", board("b", scoreboard.ModeIncrement), []int64{5, 3}, []string{"e0"}, 3, true, -1},
		{"increment, all", board("b", scoreboard.ModeIncrement), []int64{5, 3}, []string{"e0", "e1"}, 0, true, -1},
		{"best, the best", board("b", scoreboard.ModeBest), []int64{5, 9, 7}, []string{"e1"}, 7, true, 2},
		{"best, a worse one", board("b", scoreboard.ModeBest), []int64{5, 9, 7}, []string{"e2"}, 9, true, 1},
		{"best, one overtaken since", board("b", scoreboard.ModeBest), []int64{5, 7, 9}, []string{"e1"}, 9, true, 2},
		{"best, the better two", board("b", scoreboard.ModeBest), []int64{5, 9, 7}, []string{"e1", "e2"}, 5, true, 0},
		{"best, one of two equals", board("b", scoreboard.ModeBest), []int64{9, 9}, []string{"e0"}, 9, true, 1},
		{"best, all", board("b", scoreboard.ModeBest), []int64{5, 9}, []string{"e1", "e0"}, 0, false, 0},
		{"lowest, the best", lowest("b"), []int64{5, 2, 3}, []string{"e1"}, 3, true, 2},
		{"latest, the last", board("b", scoreboard.ModeLatest), []int64{5, 9, 7}, []string{"e2"}, 9, true, 1},
		{"latest, an earlier one", board("b", scoreboard.ModeLatest), []int64{5, 9, 7}, []string{"e1"}, 7, true, 2},
		{"latest, between two equals", board("b", scoreboard.ModeLatest), []int64{5, 9, 5}, []string{"e1"}, 5, true, 0},
		{"latest, all", board("b", scoreboard.ModeLatest), []int64{5}, []string{"e0"}, 0, false, 0},
	} {
		check := func(t *testing.T, m *memory) {
			t.Helper()
			s := m.scores[ledger.ScoreKey{User: "ada", Board: "b"}]
			reached := m.now.Add(-time.Second)
			if c.reached >= 0 {
				reached = noon.Add(time.Duration(c.reached) * time.Second)
			}
			if s.Value != c.want || s.Exists != c.exists || s.Hidden == c.exists ||
				c.exists && !s.ReachedAt.Equal(reached) {
				t.Errorf("%+v, want %d, exists %t, reached at %s", s, c.want, c.exists, reached)
			}
		}
		prepare := func(t *testing.T) *memory {
			t.Helper()
			m := newMemory(c.board)
			for i, delta := range c.deltas {
				m.record(t, increment("ada", delta, fmt.Sprint("e", i), "b"))
			}
			return m
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := prepare(t)
			for _, event := range c.reverse {
				wantCode(t, "reverse "+event, m.reverse(t, "ada", event).Err, "")
			}
			check(t, m)
		})
		t.Run(c.name+"/as one void", func(t *testing.T) {
			t.Parallel()
			m := prepare(t)
			before := m.scores[ledger.ScoreKey{User: "ada", Board: "b"}]
			for _, o := range m.void(t, 7, false, "ada", c.reverse...) {
				wantCode(t, "void", o.Err, "")
			}
			check(t, m)
			for _, o := range m.void(t, 7, true, "ada", c.reverse...) {
				wantCode(t, "undo", o.Err, "")
			}
			after := m.scores[ledger.ScoreKey{User: "ada", Board: "b"}]
			if after.Value != before.Value || !after.Exists || after.Hidden ||
				c.board.Mode != scoreboard.ModeIncrement && !after.ReachedAt.Equal(before.ReachedAt) {
				t.Errorf("after the undo %+v, want %+v again", after, before)
			}
		})
	}
}

// A reversal is an event of its own, with its own receipt; a second one is a replay.
func TestReversalIsAnEvent(t *testing.T) {
	t.Parallel()
	m := newMemory(board("a", scoreboard.ModeIncrement), board("b", scoreboard.ModeIncrement))
	in := increment("ada", 5, "e", "b", "a")
	m.record(t, in)
	o := m.reverse(t, "ada", "e")
	wantCode(t, "the reversal", o.Err, "")
	if len(o.Receipts) != 2 {
		t.Fatalf("%d receipts, want one for each board", len(o.Receipts))
	}
	for _, r := range o.Receipts {
		wantReceipt(t, "the reversal", r, 0, -5, 2)
		if r.Event.UUID == in.Event.UUID || *r.Previous != 5 {
			t.Errorf("%+v, want an event of its own after a score of 5", r)
		}
	}
	if r := m.rows[2]; !r.admin || r.action != "reversal:"+scoreboard.FormatUUID(in.Event.UUID) {
		t.Errorf("row %+v, want a reversal by an operator", r)
	}
	if o := m.reverse(t, "ada", "e"); o.Err != nil || !o.Receipts[0].Replayed || len(m.rows) != 4 {
		t.Errorf("the second reversal: %+v, %d rows; want a replay", o, len(m.rows))
	}
	repeat := m.record(t, in)[0]
	for _, r := range repeat.Receipts {
		wantReceipt(t, "the event again", r, 5, 5, 1)
		if !r.Reversed {
			t.Error("the receipt of a reversed event does not say so")
		}
	}
}

// After a reversal, further events of one batch add to what is left.
func TestIncrementsAfterAReversal(t *testing.T) {
	t.Parallel()
	m := newMemory(board("b", scoreboard.ModeIncrement), board("best", scoreboard.ModeBest))
	m.record(t, increment("ada", 5, "e1", "b"), increment("ada", 3, "e2", "b"), increment("ada", 9, "s1", "best"))
	m.reverse(t, "ada", "e1")
	m.reverse(t, "ada", "s1")
	o := m.record(t, increment("ada", 10, "e3", "b"), increment("ada", 4, "s2", "best"),
		increment("ada", 100, "e4", "b"), increment("ada", 3, "s3", "best"))
	wantReceipt(t, "e3", o[0].Receipts[0], 13, 10, 4)
	wantReceipt(t, "e4", o[2].Receipts[0], 113, 100, 5)
	wantReceipt(t, "s2", o[1].Receipts[0], 4, 4, 3)
	wantReceipt(t, "s3", o[3].Receipts[0], 4, 0, 4)
	if o[1].Receipts[0].Previous != nil {
		t.Error("a first score after all were reversed has a previous one")
	}
	for key, s := range m.scores {
		if s.Hidden || !s.Exists {
			t.Errorf("%v is %+v, want it shown", key, s)
		}
	}
}

func TestReversalIsAllOrNothing(t *testing.T) {
	t.Parallel()
	tight, closed := board("tight", scoreboard.ModeIncrement), board("closed", scoreboard.ModeIncrement)
	m := newMemory(board("a", scoreboard.ModeIncrement), tight, closed)
	m.record(t, increment("ada", 5, "e1", "a", "tight"), increment("ada", 5, "e2", "closed", "a"))
	m.record(t, increment("ada", -3, "e3", "tight"))
	tight.MinScore, closed.Status = 0, scoreboard.StatusFrozen
	rows := len(m.rows)
	wantCode(t, "below a board's least score", m.reverse(t, "ada", "e1").Err, wire.CodeScoreOutOfRange)
	wantCode(t, "on a frozen board", m.reverse(t, "ada", "e2").Err, wire.CodeBoardClosed)
	if len(m.rows) != rows || len(m.reversals) != 0 {
		t.Errorf("%d rows, want none for a rejected reversal", len(m.rows)-rows)
	}
	// Together with e3 the score stays within its bounds; e2 is corrected separately.
	outcomes := m.void(t, 1, false, "ada", "e3", "e1", "e2")
	for i, want := range []wire.Code{"", "", wire.CodeBoardClosed} {
		wantCode(t, "void", outcomes[i].Err, want)
	}
	if got := m.standing("ada", "tight"); got.score != 0 {
		t.Errorf("score %d, want 0", got.score)
	}
}

// What a board that has ended keeps of an event is final. A reversal of the event's other
// boards must be asked for; a void always is one. Its undo restores what it reversed.
func TestReversalKeepsEndedBoards(t *testing.T) {
	t.Parallel()
	season := board("season", scoreboard.ModeIncrement)
	m := newMemory(board("sum", scoreboard.ModeIncrement), season)
	m.record(t, increment("ada", 5, "e1", "sum", "season"), increment("ada", 7, "e2", "sum", "season"),
		increment("ada", 4, "e3", "season"))
	open := ledger.Correction{OpenBoards: true}
	correct := func(how ledger.Correction, event string) scoreboard.Outcome {
		t.Helper()
		e := m.event(t, "ada", increment("ada", 1, event, "sum").Event)
		o := m.correct(t, how, e)[0]
		if o.Err == nil && !o.Receipts[0].Replayed {
			if left := e.Uncorrected(o.Receipts); !slices.Equal(left, []scoreboard.BoardID{"season"}) {
				t.Errorf("%s: uncorrected on %v, want the season", event, left)
			}
		}
		return o
	}
	want := func(what string, sum scoreboard.Score) {
		t.Helper()
		for id, score := range map[scoreboard.BoardID]scoreboard.Score{"sum": sum, "season": 16} {
			if got := m.scores[ledger.ScoreKey{User: "ada", Board: id}].Value; got != score {
				t.Errorf("%s: %d on %s, want %d", what, got, id, score)
			}
		}
	}
	season.Status = scoreboard.StatusFrozen
	wantCode(t, "on a board that is frozen for now", correct(open, "e1").Err, wire.CodeBoardClosed)
	season.Closed = m.now
	wantCode(t, "not asked for", correct(ledger.Correction{}, "e1").Err, wire.CodeBoardClosed)
	wantCode(t, "no board is open", correct(open, "e3").Err, wire.CodeBoardClosed)
	want("after what was rejected", 12)
	wantCode(t, "e1", correct(open, "e1").Err, "")
	want("after the reversal", 7)
	for _, how := range []ledger.Correction{open, {}} {
		if o := correct(how, "e1"); o.Err != nil || !o.Receipts[0].Replayed {
			t.Errorf("the reversal again: %+v, want a replay", o)
		}
	}
	void := int64(3)
	wantCode(t, "void", correct(ledger.Correction{Void: &void, OpenBoards: true}, "e2").Err, "")
	want("after the void", 0)
	wantCode(t, "undo", correct(ledger.Correction{Void: &void, Undo: true, OpenBoards: true}, "e2").Err, "")
	want("after the undo", 7)
}

func TestWhatCannotBeCorrected(t *testing.T) {
	t.Parallel()
	m := newMemory(board("b", scoreboard.ModeIncrement))
	m.record(t, increment("ada", 5, "e", "b"), increment("bob", 5, "e", "b"), increment("eve", 5, "e", "b"))
	m.adjust(t, "ada", 2, "adjusted", "b")
	m.setStatus("bob", scoreboard.UserErased)
	m.setStatus("eve", scoreboard.UserBanned)
	reversal := m.reverse(t, "ada", "e").Receipts[0].Event
	wantCode(t, "an erased user", m.reverse(t, "bob", "e").Err, wire.CodeGone)
	wantCode(t, "a banned user", m.reverse(t, "eve", "e").Err, "")
	wantCode(t, "an adjustment", m.reverse(t, "ada", "adjusted").Err, "")
	wantCode(t, "a reversal", m.correct(t, ledger.Correction{}, m.event(t, "ada", reversal))[0].Err,
		wire.CodeConflict)
	stranger := m.event(t, "ada", reversal)
	stranger.User = "nobody"
	wantCode(t, "an unknown user", m.correct(t, ledger.Correction{}, stranger)[0].Err, wire.CodeNotFound)
	if m.users["nobody"] != "" {
		t.Error("the correction created its user")
	}
	if s := m.scores[ledger.ScoreKey{User: "eve", Board: "b"}]; !s.Hidden || s.Value != 0 {
		t.Errorf("%+v, want a banned user's score hidden", s)
	}
}

// An undo restores what its own void reversed, and nothing else.
func TestUndo(t *testing.T) {
	t.Parallel()
	const conflict = wire.CodeConflict
	m := newMemory(board("b", scoreboard.ModeIncrement))
	m.record(t,
		increment("ada", 5, "single", "b"), increment("ada", 7, "voided", "b"), increment("ada", 9, "other", "b"))
	m.reverse(t, "ada", "single")
	m.void(t, 1, false, "ada", "voided")
	for _, c := range []struct {
		event string
		void  int64
		want  wire.Code
	}{{"single", 1, conflict}, {"other", 1, conflict}, {"voided", 2, conflict}, {"voided", 1, ""}} {
		wantCode(t, "undo "+c.event, m.void(t, c.void, true, "ada", c.event)[0].Err, c.want)
	}
	if got := m.standing("ada", "b").score; got != 16 {
		t.Errorf("score %d, want 16", got)
	}
	wantCode(t, "a second undo", m.void(t, 1, true, "ada", "voided")[0].Err, conflict)
	// The same void again derives other ids.
	wantCode(t, "void again", m.void(t, 1, false, "ada", "voided")[0].Err, "")
	wantCode(t, "undo again", m.void(t, 1, true, "ada", "voided")[0].Err, "")
	if got := m.standing("ada", "b"); got.score != 16 || got.version != 8 {
		t.Errorf("%+v, want 16 at version 8", got)
	}
	// What a void finds reversed stays reversed when the void is undone.
	if o := m.void(t, 3, false, "ada", "single")[0]; o.Err != nil || !o.Receipts[0].Replayed {
		t.Errorf("void of a reversed event: %+v, want a replay", o)
	}
	wantCode(t, "its undo", m.void(t, 3, true, "ada", "single")[0].Err, conflict)
}

// A client that takes the ids of corrections, whether it knows them in advance or has
// seen them, prevents neither reversal nor void nor undo, and its own events can be
// reversed as well.
func TestClientTakesCorrectionIDs(t *testing.T) {
	t.Parallel()
	m := newMemory(board("b", scoreboard.ModeIncrement), board("best", scoreboard.ModeBest))
	m.record(t, increment("ada", 5, "e", "b"), increment("ada", 7, "s", "best"))
	void := int64(7)
	var taken []string
	correct := func(how ledger.Correction, event string) {
		t.Helper()
		e := m.event(t, "ada", increment("ada", 1, event, "b").Event)
		in := how.Item(&e)
		m.record(t, increment("ada", 1, in.Event.Text, "b")) // before the correction
		o, err := m.correctAs(t, &how, []ledger.Event{e}, []scoreboard.Increment{in})
		wantCode(t, in.Action, err, "")
		wantCode(t, in.Action, o[0].Err, "")
		if got := o[0].Receipts[0]; got.Replayed || got.Event != in.Event || !in.Event.IsUUID() {
			t.Errorf("%s: %+v, want a new event with the id %s", in.Action, got, in.Event.Text)
		}
		repeat := m.record(t, increment("ada", 1, in.Event.Text, "b"))[0]
		if repeat.Err != nil || !repeat.Receipts[0].Replayed || repeat.Receipts[0].Applied != 1 {
			t.Errorf("the client's event again: %+v", repeat)
		}
		taken = append(taken, in.Event.Text)
	}
	for _, event := range []string{"e", "s"} {
		correct(ledger.Correction{Void: &void}, event)
		correct(ledger.Correction{Void: &void, Undo: true}, event)
		correct(ledger.Correction{}, event)
	}
	if got := m.standing("ada", "b").score; got != 6 {
		t.Errorf("score %d, want 6 for the taken ids", got)
	}
	for _, event := range taken {
		wantCode(t, "reversal of the taken id "+event, m.reverse(t, "ada", event).Err, "")
	}
	if got := m.standing("ada", "b").score; got != 0 {
		t.Errorf("score %d, want 0", got)
	}
}

// An operator's adjustment and a client's event with the same id are two events: each
// counts once, and each can be reversed.
func TestAdjustmentWithAClientsID(t *testing.T) {
	t.Parallel()
	m := newMemory(board("b", scoreboard.ModeIncrement), board("best", scoreboard.ModeBest))
	m.record(t, increment("ada", 5, "ticket-1", "b"), increment("ada", 5, "ticket-2", "best"))
	for i, id := range []string{"ticket-1", "ticket-2"} {
		name := []string{"b", "best"}[i]
		for _, replay := range []bool{false, true} {
			o, replayed := m.adjust(t, "ada", -3, id, scoreboard.BoardID(name))
			wantCode(t, "adjust "+id, o.Err, "")
			if replayed != replay {
				t.Errorf("adjust %s: replayed %t, want %t", id, replayed, replay)
			}
		}
		if got := m.standing("ada", scoreboard.BoardID(name)).score; got != 2 {
			t.Errorf("%s: score %d, want 2", name, got)
		}
		in := increment("ada", 5, id, scoreboard.BoardID(name))
		client := m.event(t, "ada", in.Event)
		adjustment := client
		adjustment.Admin, adjustment.Action = true, ledger.ActionAdjust
		adjustment.Applied = []scoreboard.Pair{{Score: -3}}
		wantCode(t, "reverse the client's event", m.correct(t, ledger.Correction{}, client)[0].Err, "")
		if got := m.standing("ada", scoreboard.BoardID(name)).score; got != -3 {
			t.Errorf("%s: score %d with the adjustment alone, want -3", name, got)
		}
		o := m.correct(t, ledger.Correction{}, adjustment)[0]
		wantCode(t, "reverse the adjustment", o.Err, "")
		if o.Receipts[0].Replayed {
			t.Error("the adjustment counts as reversed already")
		}
	}
}

func TestAdjust(t *testing.T) {
	t.Parallel()
	for _, mode := range []scoreboard.Mode{scoreboard.ModeIncrement, scoreboard.ModeBest, scoreboard.ModeLatest} {
		b := board("b", mode)
		b.MaxDelta, b.MaxScore = 10, 20 // an operator is held to the score's bounds only
		m := newMemory(b)
		m.record(t, increment("ada", 5, "e", "b"))
		adjust := func(
			user scoreboard.UserID, delta int64, event string, want wire.Code, replay bool,
		) scoreboard.Outcome {
			t.Helper()
			o, replayed := m.adjust(t, user, delta, event, "b")
			wantCode(t, event, o.Err, want)
			if replayed != replay {
				t.Errorf("%s: replayed %t, want %t", event, replayed, replay)
			}
			return o
		}
		wantReceipt(t, "up", adjust("ada", 15, "up", "", false).Receipts[0], 20, 15, 2)
		adjust("ada", 1, "too-much", wire.CodeScoreOutOfRange, false)
		wantReceipt(t, "down", adjust("ada", -12, "down", "", false).Receipts[0], 8, -12, 3)
		wantReceipt(t, "again", adjust("ada", -12, "down", "", true).Receipts[0], 8, -12, 3)
		adjust("ada", -13, "down", wire.CodeEventConflict, true)
		adjust("nobody", 1, "unknown", wire.CodeNotFound, false)
		m.reverse(t, "ada", "up")
		if got := m.standing("ada", "b").score; got != -7 {
			t.Errorf("%s: score %d after the reversal of an adjustment, want -7", mode, got)
		}
		b.Status = scoreboard.StatusFrozen
		adjust("ada", 1, "closed", wire.CodeBoardClosed, false)
		adjust("ada", -12, "down", "", true)
		m.setStatus("ada", scoreboard.UserErased)
		adjust("ada", 1, "erased", wire.CodeGone, false)
	}
}

// An adjustment of a banned user stays hidden, also on a new board.
func TestAdjustOfABannedUserStaysHidden(t *testing.T) {
	t.Parallel()
	m := newMemory(board("a", scoreboard.ModeIncrement), board("b", scoreboard.ModeIncrement))
	m.record(t, increment("ada", 5, "e", "a"))
	m.setStatus("ada", scoreboard.UserBanned)
	for _, id := range []scoreboard.BoardID{"a", "b"} {
		o, _ := m.adjust(t, "ada", 2, "adjust-"+string(id), id)
		wantCode(t, "adjust", o.Err, "")
		if s := m.scores[ledger.ScoreKey{User: "ada", Board: id}]; !s.Hidden || !s.Exists {
			t.Errorf("board %s: %+v, want a hidden score", id, s)
		}
	}
	if last := m.rows[len(m.rows)-1]; !last.changed || last.revision != 1 {
		t.Errorf("%+v, want the first revision", last)
	}
}

func TestFoldAfterArchiving(t *testing.T) {
	t.Parallel()
	at := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
	id := func(n byte) [16]byte { return [16]byte{n} }
	for _, c := range []struct {
		name    string
		mode    scoreboard.Mode
		changes map[ledger.EventKey]bool
		rows    []ledger.FoldRow
		want    ledger.Standing
	}{
		{"all rows are there: the score before is not used", scoreboard.ModeBest, nil, []ledger.FoldRow{
			{Event: id(1), Delta: 3, At: at(1), Version: 1, Before: 9, Existed: true},
		}, ledger.Standing{Pair: scoreboard.Pair{Score: 3}, Exists: true, ReachedAt: at(1)}},
		{"the first is archived: a worse score follows", scoreboard.ModeBest, nil, []ledger.FoldRow{
			{Event: id(2), Delta: 3, At: at(2), Version: 2, Before: 9, Existed: true},
		}, ledger.Standing{Pair: scoreboard.Pair{Score: 9}, Exists: true, ReachedAt: at(0)}},
		{"the first is archived: the next is reversed", scoreboard.ModeLatest, nil, []ledger.FoldRow{
			{Event: id(2), Delta: 3, At: at(2), Version: 2, Before: 9, Existed: true, Reversed: true},
		}, ledger.Standing{Pair: scoreboard.Pair{Score: 9}, Exists: true, ReachedAt: at(0)}},
		{"nothing counted before", scoreboard.ModeLatest, nil, []ledger.FoldRow{
			{Event: id(2), Delta: 3, At: at(2), Version: 3, Reversed: true},
			{Event: id(3), Delta: 4, At: at(3), Version: 4},
		}, ledger.Standing{Pair: scoreboard.Pair{Score: 4}, Exists: true, ReachedAt: at(3)}},
		{"an adjustment adds, a reversal's own row does not", scoreboard.ModeBest, nil, []ledger.FoldRow{
			{Event: id(1), Delta: 3, At: at(1), Version: 1},
			{Event: id(2), Delta: 2, At: at(2), Version: 2, Admin: true, Action: ledger.ActionAdjust},
			{Event: id(3), Delta: 8, At: at(3), Version: 3, Admin: true, Action: "reversal:x"},
			{Event: id(4), Delta: 4, At: at(4), Version: 4},
		}, ledger.Standing{Pair: scoreboard.Pair{Score: 5}, Exists: true, ReachedAt: at(2)}},
		{"a client's action is not an operator's", scoreboard.ModeBest, nil, []ledger.FoldRow{
			{Event: id(1), Delta: 3, At: at(1), Version: 1},
			{Event: id(2), Delta: 2, At: at(2), Version: 2, Action: ledger.ActionAdjust},
		}, ledger.Standing{Pair: scoreboard.Pair{Score: 3}, Exists: true, ReachedAt: at(1)}},
		{"this transaction overrides what is stored", scoreboard.ModeLatest, map[ledger.EventKey]bool{
			{User: "ada", Event: id(1)}: false, {User: "ada", Event: id(2)}: true, {User: "bob", Event: id(3)}: true,
		}, []ledger.FoldRow{
			{Event: id(3), Delta: 5, At: at(1), Version: 1},
			{Event: id(1), Delta: 3, At: at(2), Version: 2, Reversed: true},
			{Event: id(2), Delta: 4, At: at(3), Version: 3},
		}, ledger.Standing{Pair: scoreboard.Pair{Score: 3}, Exists: true, ReachedAt: at(2)}},
		{"no rows", scoreboard.ModeBest, nil, nil, ledger.Standing{ReachedAt: at(0)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			target := board("b", c.mode)
			m := newMemory(target)
			m.scores[ledger.ScoreKey{User: "ada", Board: "b"}] = ledger.Score{Exists: true, ReachedAt: at(0)}
			b, err := m.begin([]scoreboard.Increment{increment("ada", 1, "e", "b")}, nil)
			if err != nil {
				t.Fatal(err)
			}
			f := b.NewFold("ada", target, c.changes)
			for i := range c.rows {
				f.Add(&c.rows[i])
			}
			if got := f.Standing(); got.Score != c.want.Score || got.Exists != c.want.Exists ||
				!got.ReachedAt.Equal(c.want.ReachedAt) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
