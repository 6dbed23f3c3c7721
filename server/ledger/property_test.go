package ledger_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// model keeps the list of events that count, and recomputes everything from it.
type model struct {
	boards  map[scoreboard.BoardID]*scoreboard.Board
	status  map[scoreboard.UserID]string
	private map[scoreboard.UserID]bool
	events  []*modelEvent // recorded submissions and adjustments, in order
	tokens  map[[16]byte]bool
}

type modelEvent struct {
	user     scoreboard.UserID
	id       [16]byte
	hash     [16]byte
	boards   []scoreboard.BoardID
	delta    int64
	subscore *scoreboard.Score
	adjust   bool
	at       time.Time
	receipts []scoreboard.Receipt
	reversed bool
	void     int64 // that reversed it; 0: none
	metadata scoreboard.Metadata
}

// metadata returns that of a user's standing: on best boards of the submission by which the score
// became what it is, on the others of the last one.
func (m *model) metadata(user scoreboard.UserID, id scoreboard.BoardID) (last scoreboard.Metadata) {
	b := m.boards[id]
	if !b.KeepsMetadata() {
		return ""
	}
	all := m.events
	defer func() { m.events = all }()
	for i, e := range all {
		if e.user != user || e.reversed || e.adjust || !slices.Contains(e.boards, id) {
			continue
		}
		m.events = all[:i]
		before, existed, _ := m.standing(user, id, nil)
		m.events = all[:i+1]
		after, _, _ := m.standing(user, id, nil)
		if b.Mode != scoreboard.ModeBest || !existed || before != after {
			last = e.metadata
		}
	}
	return last
}

// standing replays the events of a user on a board. off overrides which of them
// are reversed.
func (m *model) standing(
	user scoreboard.UserID, id scoreboard.BoardID, off map[*modelEvent]bool,
) (score scoreboard.Pair, exists bool, reached time.Time) {
	b := m.boards[id]
	for _, e := range m.events {
		if e.user != user || !slices.Contains(e.boards, id) {
			continue
		}
		reversed, set := off[e]
		if !set {
			reversed = e.reversed
		}
		submitted := scoreboard.Pair{Score: scoreboard.Score(e.delta)}
		if e.subscore != nil && b.Subscore != "" {
			submitted.Subscore = *e.subscore
		}
		sum := scoreboard.Pair{
			Score: score.Score + submitted.Score, Subscore: score.Subscore + submitted.Subscore,
		}
		if b.Mode == scoreboard.ModeIncrement {
			exists = true // even where nothing counts any more
			if !reversed {
				score = sum
			}
			continue
		}
		if reversed {
			continue
		}
		next := submitted
		switch {
		case e.adjust:
			next = sum
		case b.Mode == scoreboard.ModeBest && exists && !ahead(b, submitted, score):
			next = score
		}
		if !exists || next != score {
			reached = e.at
		}
		score, exists = next, true
	}
	return score, exists, reached
}

// ahead reports whether p ranks ahead of q: by the score, then by the subscore.
func ahead(b *scoreboard.Board, p, q scoreboard.Pair) bool {
	if p.Score != q.Score {
		return (p.Score > q.Score) == (b.Order == scoreboard.OrderHighest)
	}
	return p.Subscore != q.Subscore && (p.Subscore > q.Subscore) == (b.Subscore == scoreboard.OrderHighest)
}

// attempts counts the submissions of a user on a board that are not reversed.
func (m *model) attempts(user scoreboard.UserID, id scoreboard.BoardID) (n int64) {
	for _, e := range m.events {
		if e.user == user && slices.Contains(e.boards, id) && !e.adjust && !e.reversed {
			n++
		}
	}
	return n
}

func (m *model) find(user scoreboard.UserID, id [16]byte) *modelEvent {
	for _, e := range m.events {
		if e.user == user && e.id == id {
			return e
		}
	}
	return nil
}

// submit predicts the outcome of an increment, and records it if it counts.
func (m *model) submit(in *scoreboard.Increment, at time.Time) (wire.Code, *modelEvent) {
	if m.status[in.User] == scoreboard.UserBanned || m.status[in.User] == scoreboard.UserFrozen {
		return wire.CodeForbidden, nil
	}
	if e := m.find(in.User, in.Event.UUID); e != nil {
		if e.hash != in.PayloadHash() {
			return wire.CodeEventConflict, nil
		}
		return "", e
	}
	if in.ActionID != [16]byte{} && m.tokens[in.ActionID] {
		return wire.CodeTokenUsed, nil
	}
	e := &modelEvent{
		user: in.User, id: in.Event.UUID, hash: in.PayloadHash(), boards: in.Boards, delta: in.Delta, at: at,
		metadata: in.Metadata, subscore: in.Subscore,
	}
	m.events = append(m.events, e)
	if code := m.fits(e); code != "" {
		m.events = m.events[:len(m.events)-1]
		return code, nil
	}
	if in.ActionID != [16]byte{} {
		m.tokens[in.ActionID] = true
	}
	return "", e
}

// fits predicts whether the last event keeps to the rules of its boards.
func (m *model) fits(e *modelEvent) wire.Code {
	for i, id := range e.boards {
		b := m.boards[id]
		if b == nil {
			return wire.CodeNotFound
		}
		score, _, _ := m.standing(e.user, id, nil)
		adds := b.Subscore != "" && e.subscore != nil && *e.subscore != 0
		switch {
		case b.Status != scoreboard.StatusActive:
			return wire.CodeBoardClosed
		case i > 0 && b.Mode != m.boards[e.boards[0]].Mode:
			return wire.CodeRuleViolated
		case b.Attempts > 0 && m.attempts(e.user, id) > b.Attempts: // the event is one of them
			return wire.CodeAttemptsUsed
		case e.delta == 0 && b.Mode == scoreboard.ModeIncrement && !adds:
			return wire.CodeInvalidRequest
		case e.delta < b.MinDelta || e.delta > b.MaxDelta:
			return wire.CodeDeltaOutOfRange
		case b.Subscore != "" && (orZero(e.subscore) < b.MinSubscore || orZero(e.subscore) > b.MaxSubscore):
			return wire.CodeDeltaOutOfRange
		case !inBounds(b, score):
			return wire.CodeScoreOutOfRange
		}
	}
	keeps := func(id scoreboard.BoardID) bool { return m.boards[id].KeepsMetadata() }
	if e.metadata != "" && !slices.ContainsFunc(e.boards, keeps) {
		return wire.CodeInvalidRequest
	}
	ranks := func(id scoreboard.BoardID) bool { return m.boards[id].Subscore != "" }
	if e.subscore != nil && !slices.ContainsFunc(e.boards, ranks) {
		return wire.CodeInvalidRequest
	}
	return ""
}

func inBounds(b *scoreboard.Board, p scoreboard.Pair) bool {
	return p.Score >= b.MinScore && p.Score <= b.MaxScore && max(p.Subscore, -p.Subscore) <= scoreboard.MaxScore
}

// correct predicts the outcomes of a correction of events, and applies it.
func (m *model) correct(events []*modelEvent, undo bool, void int64) []wire.Code {
	codes := make([]wire.Code, len(events))
	var apply []*modelEvent
	for i, e := range events {
		switch {
		case undo && (!e.reversed || e.void != void):
			codes[i] = wire.CodeConflict
		case e.reversed != undo: // a replay
		case slices.ContainsFunc(e.boards, func(id scoreboard.BoardID) bool {
			return m.boards[id].Status != scoreboard.StatusActive
		}):
			codes[i] = wire.CodeBoardClosed
		default:
			apply = append(apply, e)
		}
	}
	if !m.inBounds(apply, undo) {
		if len(events) == 1 {
			return []wire.Code{wire.CodeScoreOutOfRange}
		}
		codes = nil
		for _, e := range events {
			codes = append(codes, m.correct([]*modelEvent{e}, undo, void)...)
		}
		return codes
	}
	for _, e := range apply {
		if e.reversed = !undo; e.reversed {
			e.void = void
		}
	}
	return codes
}

// inBounds reports whether every score on the way stays within its bounds: sums
// change event by event, other scores at once.
func (m *model) inBounds(apply []*modelEvent, undo bool) bool {
	all, soFar := make(map[*modelEvent]bool), make(map[*modelEvent]bool)
	for _, e := range apply {
		all[e] = !undo
	}
	for _, e := range apply {
		soFar[e] = !undo
		for _, id := range e.boards {
			b, off := m.boards[id], all
			if b.Mode == scoreboard.ModeIncrement {
				off = soFar
			}
			if score, exists, _ := m.standing(e.user, id, off); exists && !inBounds(b, score) {
				return false
			}
		}
	}
	return true
}

// machine runs the package and the model side by side.
type machine struct {
	memory    *memory
	model     *model
	submitted []scoreboard.Increment

	recorded, repeats, conflicts, rejected, reversed, restored, used int
}

var propertyUsers = []scoreboard.UserID{"ada", "bob"}

func newMachine() *machine {
	tight, high, low := board("tight", scoreboard.ModeIncrement), board("high", scoreboard.ModeBest), lowest("low")
	tight.MinScore, tight.MaxScore, tight.MaxDelta = -2, 6, 5
	high.MinScore, high.MaxScore, high.MinDelta, high.MaxDelta = -2, 7, -4, 9
	low.MinScore = -3
	last := board("last", scoreboard.ModeLatest)
	last.Attempts, tight.Attempts = 1, 2
	high.Metadata, last.Metadata = scoreboard.MetadataPublic, scoreboard.MetadataSelf
	sum := board("sum", scoreboard.ModeIncrement)
	sum.Metadata = scoreboard.MetadataPublic
	// Large subscores, so that their sum leaves its bounds as well.
	goals, duel, draw := board("goals", scoreboard.ModeIncrement), lowest("duel"), board("draw", scoreboard.ModeLatest)
	goals.Subscore, goals.MinSubscore, goals.MaxSubscore = scoreboard.OrderHighest, -scoreboard.MaxScore, largeSubscore
	duel.Subscore, duel.MinSubscore, duel.MaxSubscore = scoreboard.OrderHighest, -2, largeSubscore
	draw.Subscore, draw.MinSubscore, draw.MaxSubscore = scoreboard.OrderLowest, -largeSubscore, largeSubscore
	duel.Metadata = scoreboard.MetadataPublic
	boards := []*scoreboard.Board{sum, tight, high, low, last, goals, duel, draw}
	m := &machine{memory: newMemory(boards...), model: &model{
		boards: make(map[scoreboard.BoardID]*scoreboard.Board), status: make(map[scoreboard.UserID]string),
		private: make(map[scoreboard.UserID]bool),
		tokens:  make(map[[16]byte]bool),
	}}
	for _, b := range boards {
		m.model.boards[b.ID] = b
	}
	return m
}

// largeSubscore can be added once.
const largeSubscore = scoreboard.MaxScore/2 + 1

// Few events, boards and deltas, so that repeats, conflicts and bounds are common.
var drawIncrement = rapid.Custom(func(t *rapid.T) scoreboard.Increment {
	boards := rapid.SampledFrom([][]scoreboard.BoardID{
		{"sum"},
		{"tight"},
		{"high"},
		{"low"},
		{"last"},
		{"sum", "tight"},
		{"tight", "sum"},
		{"high", "low"},
		{"sum", "high"},
		{"sum", "nowhere"},
		{"goals"},
		{"duel"},
		{"draw"},
		{"goals", "sum"},
		{"duel", "high"},
	}).Draw(t, "boards")
	in := increment(rapid.SampledFrom(propertyUsers).Draw(t, "user"), rapid.Int64Range(-5, 9).Draw(t, "delta"),
		fmt.Sprint("e", rapid.IntRange(0, 30).Draw(t, "event")), boards...)
	// A retry mostly has what the event had, and boards that keep none mostly get none.
	if in.Event.UUID[0]%2 == 0 && slices.ContainsFunc(boards, func(id scoreboard.BoardID) bool {
		return id == "sum" || id == "high" || id == "last" || id == "duel"
	}) {
		in.Metadata = `{"a":1}`
	}
	if rapid.IntRange(0, 9).Draw(t, "other metadata") == 0 {
		in.Metadata = `{"a":2}`
	}
	// Likewise a subscore; scores of few values tie often.
	pairs := slices.ContainsFunc(boards, func(id scoreboard.BoardID) bool {
		return id == "goals" || id == "duel" || id == "draw"
	})
	switch event := in.Event.UUID[1]; {
	case pairs && event%4 > 0:
		in.Delta %= 3
		in.Subscore = new(scoreboard.Score(event%5) - 2)
		if event%16 == 1 {
			in.Subscore = new(scoreboard.Score(largeSubscore))
		}
	case rapid.IntRange(0, 19).Draw(t, "subscore") == 0:
		in.Subscore = new(scoreboard.Score(rapid.IntRange(-1, 1).Draw(t, "which subscore")))
	}
	if token := rapid.IntRange(0, 30).Draw(t, "token"); token < 4 {
		in.ActionID[0] = byte(token)
	}
	return in
})

func (m *machine) submit(t *rapid.T) {
	items := make([]scoreboard.Increment, rapid.IntRange(1, 8).Draw(t, "batch"))
	for i := range items {
		if n := len(m.submitted); n > 0 && rapid.IntRange(0, 4).Draw(t, "again") == 0 {
			items[i] = m.submitted[rapid.IntRange(0, n-1).Draw(t, "which")]
		} else {
			items[i] = drawIncrement.Draw(t, "increment")
		}
		m.submitted = append(m.submitted, items[i])
	}
	outcomes := m.memory.record(t, items...)
	for i := range items {
		code, e := m.model.submit(&items[i], m.memory.times[items[i].User])
		wantCode(t, fmt.Sprintf("item %d, %+v", i, items[i]), outcomes[i].Err, code)
		switch {
		case e == nil && code == wire.CodeEventConflict:
			m.conflicts++
		case e == nil && code == wire.CodeAttemptsUsed:
			m.used++
		case e == nil:
			m.rejected++
		case e.receipts == nil:
			m.recorded++
			e.receipts = outcomes[i].Receipts
			m.checkNew(t, e)
		default:
			m.repeats++
			checkRepeat(t, e, outcomes[i].Receipts)
		}
	}
}

// checkNew checks the receipts of an event that was just recorded.
func (m *machine) checkNew(t *rapid.T, e *modelEvent) {
	for i, id := range e.boards {
		after, _, _ := m.model.standing(e.user, id, nil)
		before, _, _ := m.model.standing(e.user, id, map[*modelEvent]bool{e: true})
		r := e.receipts[i]
		if r.Board != id || r.NewScore != after.Score || r.NewSubscore != after.Subscore ||
			r.Applied != int64(after.Score-before.Score) || r.Replayed || r.Moved() != (after != before) ||
			r.PreviousSubscore != nil && *r.PreviousSubscore != before.Subscore || !r.RecordedAt.Equal(e.at) {
			t.Fatalf("receipt %+v of %+v, want %d after %d", r, e, after, before)
		}
	}
}

func checkRepeat(t *rapid.T, e *modelEvent, receipts []scoreboard.Receipt) {
	if len(receipts) != len(e.receipts) {
		t.Fatalf("repeat of %+v: %+v", e, receipts)
	}
	for i, r := range receipts {
		want := e.receipts[i]
		if !r.Replayed || r.Board != want.Board || r.NewScore != want.NewScore || r.NewSubscore != want.NewSubscore ||
			orZero(r.PreviousSubscore) != orZero(want.PreviousSubscore) || r.Applied != want.Applied ||
			r.Version != want.Version || !r.RecordedAt.Equal(want.RecordedAt) ||
			(r.Previous == nil) != (want.Previous == nil) || r.Previous != nil && *r.Previous != *want.Previous {
			t.Fatalf("repeat of %+v: %+v, want %+v", e, r, want)
		}
	}
}

// correct reverses or restores some events, as a void or, with void 0, alone.
func (m *machine) correct(t *rapid.T) {
	void := rapid.SampledFrom([]int64{0, 1, 1, 2}).Draw(t, "void")
	undo := void > 0 && rapid.Bool().Draw(t, "undo")
	from := m.model.events
	if undo && rapid.IntRange(0, 3).Draw(t, "any") > 0 { // mostly what can be restored
		from = slices.DeleteFunc(slices.Clone(from), func(e *modelEvent) bool { return !e.reversed || e.void != void })
	}
	if len(from) == 0 {
		return
	}
	limit := 1
	if void > 0 {
		limit = min(4, len(from))
	}
	some := rapid.SliceOfNDistinct(rapid.IntRange(0, len(from)-1), 1, limit, rapid.ID).Draw(t, "events")
	how := ledger.Correction{Undo: undo}
	if void > 0 {
		how.Void = &void
	}
	var events []ledger.Event
	var chosen []*modelEvent
	for _, i := range some {
		e := from[i]
		chosen = append(chosen, e)
		events = append(events, m.memory.event(t, e.user, scoreboard.EventID{UUID: e.id}))
	}
	outcomes := m.memory.correct(t, how, events...)
	for i, code := range m.model.correct(chosen, undo, void) {
		wantCode(t, fmt.Sprintf("correction of %+v, undo %t", chosen[i], undo), outcomes[i].Err, code)
		switch {
		case code != "":
		case undo:
			m.restored++
		default:
			m.reversed++
		}
	}
}

func (m *machine) adjust(t *rapid.T) {
	user, id := rapid.SampledFrom(propertyUsers).Draw(t, "user"),
		rapid.SampledFrom([]scoreboard.BoardID{
			"sum", "tight", "high", "low", "last", "goals", "duel", "draw",
		}).Draw(t, "board")
	delta := rapid.SampledFrom([]int64{-7, -1, 2, 5}).Draw(t, "delta")
	event := fmt.Sprint("adjust", len(m.model.events))
	known := m.memory.users[user] != ""
	b := m.model.boards[id]
	var subscore []scoreboard.Score
	if b.HasSubscores() {
		subscore = []scoreboard.Score{rapid.SampledFrom([]scoreboard.Score{-3, 0, 4}).Draw(t, "subscore")}
	}
	got, _ := m.memory.adjust(t, user, delta, event, id, subscore...)
	in := increment(user, delta, event, id)
	if len(subscore) > 0 {
		in.Subscore = &subscore[0]
	}
	e := &modelEvent{
		user: user, id: in.Event.UUID, boards: in.Boards, delta: delta, adjust: true, at: m.memory.times[user],
		subscore: in.Subscore,
	}
	m.model.events = append(m.model.events, e)
	score, _, _ := m.model.standing(user, id, nil)
	code := wire.Code("")
	switch {
	case !known:
		code = wire.CodeNotFound
	case b.Status != scoreboard.StatusActive:
		code = wire.CodeBoardClosed
	case !inBounds(b, score):
		code = wire.CodeScoreOutOfRange
	}
	wantCode(t, fmt.Sprintf("adjust %s by %d on %s", user, delta, id), got.Err, code)
	if code != "" {
		m.model.events = m.model.events[:len(m.model.events)-1]
		return
	}
	in.Action = ledger.ActionAdjust
	e.hash, e.receipts = in.PayloadHash(), got.Receipts
}

func (m *machine) setStatus(t *rapid.T) {
	user := rapid.SampledFrom(propertyUsers).Draw(t, "user")
	if m.memory.users[user] != "" {
		status := rapid.SampledFrom([]string{
			scoreboard.UserActive, scoreboard.UserActive, scoreboard.UserFrozen, scoreboard.UserBanned,
		}).Draw(t, "status")
		m.memory.setStatus(user, status)
		m.model.status[user] = status
	}
}

func (m *machine) setPrivate(t *rapid.T) {
	user := rapid.SampledFrom(propertyUsers).Draw(t, "user")
	if m.memory.users[user] != "" {
		m.model.private[user] = rapid.Bool().Draw(t, "private")
		m.memory.setPrivate(user, m.model.private[user])
	}
}

func (m *machine) freeze(t *rapid.T) {
	b := m.model.boards[rapid.SampledFrom([]scoreboard.BoardID{"sum", "low"}).Draw(t, "board")]
	b.Status = rapid.SampledFrom([]scoreboard.Status{scoreboard.StatusActive, scoreboard.StatusFrozen}).Draw(t, "to")
}

// check compares every score with the model, and the ledger with itself.
func (m *machine) check(t *rapid.T) {
	for id, b := range m.model.boards {
		for _, user := range propertyUsers {
			score, exists, reached := m.model.standing(user, id, nil)
			got := m.memory.scores[ledger.ScoreKey{User: user, Board: id}]
			hidden := got.Version > 0 &&
				(!exists || m.model.status[user] == scoreboard.UserBanned || m.model.private[user])
			if got.Value != score.Score || got.Subscore != score.Subscore || got.Exists != exists ||
				got.Hidden != hidden {
				t.Fatalf("%s on %s: %+v, want %d, exists %t, hidden %t", user, id, got, score, exists, hidden)
			}
			if b.Mode != scoreboard.ModeIncrement && exists && !got.ReachedAt.Equal(reached) {
				t.Fatalf("%s on %s: reached at %s, want %s", user, id, got.ReachedAt, reached)
			}
			if want := m.model.metadata(user, id); got.Metadata != want {
				t.Fatalf("%s on %s: metadata %q, want %q", user, id, got.Metadata, want)
			}
			var version int64
			var sum scoreboard.Pair
			for _, r := range m.memory.rows {
				if r.user == user && r.receipt.Board == id {
					version++
					sum.Score += scoreboard.Score(r.receipt.Applied)
					sum.Subscore += r.receipt.NewSubscore - orZero(r.receipt.PreviousSubscore)
				}
			}
			if used := got.Version - got.Uncounted; used != m.model.attempts(user, id) {
				t.Fatalf("%s on %s: %d attempts used, want %d", user, id, used, m.model.attempts(user, id))
			}
			if version != got.Version || sum != score {
				t.Fatalf("%s on %s: %d rows with a sum of %d, the score is %+v", user, id, version, sum, got)
			}
		}
	}
}

// Whatever is recorded, repeated, reversed, restored and adjusted in whatever
// batches: every outcome and every score is what a replay of all events gives.
func TestLedgerMatchesAReplay(t *testing.T) {
	t.Parallel()
	var total machine
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine()
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 13).Draw(t, "step"); {
			case step < 6:
				m.submit(t)
			case step < 9:
				m.correct(t)
			case step < 10:
				m.adjust(t)
			case step < 11:
				m.setStatus(t)
			case step < 12:
				m.setPrivate(t)
			case step < 13:
				m.memory.now = m.memory.now.Add(-time.Minute) // the database's clock goes back
			default:
				m.freeze(t)
			}
			m.check(t)
		}
		total.recorded, total.repeats = total.recorded+m.recorded, total.repeats+m.repeats
		total.conflicts, total.rejected = total.conflicts+m.conflicts, total.rejected+m.rejected
		total.reversed, total.restored = total.reversed+m.reversed, total.restored+m.restored
		total.used += m.used
	})
	t.Logf("%d recorded, %d repeats, %d conflicts, %d rejected, %d without attempts left, %d reversed, %d restored",
		total.recorded, total.repeats, total.conflicts, total.rejected, total.used, total.reversed, total.restored)
	if min(total.recorded, total.repeats, total.conflicts, total.rejected, total.used, total.reversed,
		total.restored) == 0 {
		t.Error("something was never tried: the test proves nothing about it")
	}
}
