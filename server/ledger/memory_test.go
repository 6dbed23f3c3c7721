package ledger_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	day    = 24 * time.Hour
	shards = 4
)

// noon is a Saturday.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// memory answers what a batch requests, as package store does from PostgreSQL, and
// keeps what the batch writes.
type memory struct {
	policy *scoreboard.IngestPolicy
	now    time.Time // the clock of the next transaction, a second after the one before

	boards    []*scoreboard.Board          // a family comes before its instances
	users     map[scoreboard.UserID]string // statuses
	private   map[scoreboard.UserID]bool
	times     map[scoreboard.UserID]time.Time // of what is recorded; never go back
	rows      []row
	scores    map[ledger.ScoreKey]ledger.Score
	reversals map[ledger.EventKey]ledger.Reversal
	tokens    map[[16]byte][16]byte
	players   map[ledger.ScoreKey]bool // who have joined
}

// row is a ledger row with the state that it leaves behind.
type row struct {
	user     scoreboard.UserID
	event    [16]byte
	hash     [16]byte
	delta    int64
	subscore scoreboard.Score // of the event
	receipt  scoreboard.Receipt
	admin    bool
	action   string
	country  string
	revision int64
	key      int64
	subKey   int64
	reached  time.Time
	changed  bool
	hidden   bool
	empty    bool
	metadata string // of the event
	standing string // the metadata of the score after it
}

func newMemory(boards ...*scoreboard.Board) *memory {
	return &memory{
		now: noon, boards: boards,
		users:     make(map[scoreboard.UserID]string),
		private:   make(map[scoreboard.UserID]bool),
		times:     make(map[scoreboard.UserID]time.Time),
		scores:    make(map[ledger.ScoreKey]ledger.Score),
		reversals: make(map[ledger.EventKey]ledger.Reversal),
		tokens:    make(map[[16]byte][16]byte),
		players:   make(map[ledger.ScoreKey]bool),
	}
}

// board returns an active board that accepts every delta and score.
func board(id scoreboard.BoardID, mode scoreboard.Mode) *scoreboard.Board {
	return &scoreboard.Board{
		ID: id, Family: id, Mode: mode, Order: scoreboard.OrderHighest, Status: scoreboard.StatusActive,
		MinDelta: -scoreboard.MaxScore, MaxDelta: scoreboard.MaxScore,
		MinScore: -scoreboard.MaxScore, MaxScore: scoreboard.MaxScore,
		Period: scoreboard.PeriodNone,
	}
}

// lowest returns a best board on which the lowest score leads.
func lowest(id scoreboard.BoardID) *scoreboard.Board {
	b := board(id, scoreboard.ModeBest)
	b.Order = scoreboard.OrderLowest
	return b
}

func increment(
	user scoreboard.UserID, delta int64, event string, boards ...scoreboard.BoardID,
) scoreboard.Increment {
	id, err := scoreboard.ParseEventID(user, event)
	if err != nil {
		panic(err)
	}
	return scoreboard.Increment{
		User: user, Delta: delta, Event: id, Boards: boards, Source: scoreboard.SourceAPI,
	}
}

// begin returns a batch with everything read for it.
func (m *memory) begin(
	items []scoreboard.Increment, policy *scoreboard.IngestPolicy,
) (*ledger.Batch, error) {
	b := ledger.NewBatch(items, shards, policy)
	for _, name := range b.BoardNames {
		for _, found := range m.boards {
			if string(found.ID) == name || string(found.Family) == name {
				b.AddBoard(scoreboard.BoardID(name), found)
			}
		}
	}
	for _, name := range b.UserNames {
		id := scoreboard.UserID(name)
		status, exists := m.users[id]
		if !exists {
			status, m.users[id] = scoreboard.UserActive, scoreboard.UserActive
		}
		if m.now.After(m.times[id]) {
			m.times[id] = m.now
		}
		b.AddUser(&ledger.LockedUser{
			User: id, Status: status, Private: m.private[id], Time: m.times[id], Clock: m.now, Created: !exists,
		})
	}
	for i := range items {
		for _, r := range m.rows {
			if string(r.user) == b.EventUsers[i] && r.event == b.EventIDs[i] && r.admin == b.Internal {
				receipt := r.receipt
				_, receipt.Reversed = m.reversals[ledger.EventKey{User: r.user, Event: r.event, Internal: r.admin}]
				b.AddKnown(i, r.hash, receipt)
			}
		}
	}
	m.readScores(&b.Scores)
	for _, id := range b.Tokens.Wanted {
		if event, used := m.tokens[id]; used {
			b.Tokens.AddUsed(id, event)
		}
	}
	pairs, err := b.InstanceScores()
	m.readScores(&pairs)
	for i, user := range b.Players.Users {
		key := ledger.ScoreKey{User: scoreboard.UserID(user), Board: scoreboard.BoardID(b.Players.Boards[i])}
		if m.players[key] {
			b.AddPlayer(i)
		}
	}
	m.readActivity(b)
	return b, err
}

func (m *memory) readScores(p *ledger.ScorePairs) {
	for i := range p.Users {
		key := ledger.ScoreKey{User: scoreboard.UserID(p.Users[i]), Board: scoreboard.BoardID(p.Boards[i])}
		if s, found := m.scores[key]; found {
			p.Set(i, s)
		}
	}
}

func (m *memory) readActivity(b *ledger.Batch) {
	a := &b.Activity
	for i := range a.Actions {
		for _, r := range slices.Backward(m.rows) {
			if string(r.user) == a.ActionUsers[i] && r.action == a.Actions[i] && !r.admin &&
				r.receipt.RecordedAt.After(m.now.Add(-a.ActionWindows[i])) {
				a.AddAction(i, scoreboard.PastAction{
					Event: r.event, Delta: r.delta, Subscore: r.subscore,
					Boards: []scoreboard.BoardID{r.receipt.Board}, At: r.receipt.RecordedAt,
				})
			}
		}
	}
	n, window := a.Events()
	for _, name := range b.UserNames {
		left := n * scoreboard.MaxBoards
		for _, r := range slices.Backward(m.rows) {
			if string(r.user) == name && !r.admin && left > 0 && r.receipt.RecordedAt.After(m.now.Add(-window)) {
				left--
				a.AddRow(r.user, scoreboard.PastRow{
					Event: r.event, Board: r.receipt.Board, Delta: r.delta, Applied: r.receipt.Applied,
					At: r.receipt.RecordedAt, Country: r.country,
				})
			}
		}
	}
}

// commit keeps the rows of a batch, and checks what holds for the rows of any batch.
func (m *memory) commit(t rapid.TB, b *ledger.Batch) {
	t.Helper()
	last, uncounted := make(map[ledger.ScoreKey]int), make(map[ledger.ScoreKey]int64)
	for key, s := range m.scores {
		uncounted[key] = s.Uncounted
	}
	for i := range b.Rows.Len() {
		last[ledger.ScoreKey{User: scoreboard.UserID(b.Rows.Users[i]), Board: scoreboard.BoardID(b.Rows.Boards[i])}] = i
	}
	for i := range b.Rows.Len() {
		r := rowOf(&b.Rows, i)
		key := ledger.ScoreKey{User: r.user, Board: r.receipt.Board}
		before := m.scores[key]
		applied := scoreboard.Score(r.receipt.Applied)
		if r.receipt.Version != before.Version+1 || r.receipt.NewScore != before.Value+applied {
			t.Fatalf("row %d: %+v after %+v", i, r, before)
		}
		if previous := r.receipt.Previous; previous != nil && *previous != before.Value ||
			previous == nil && before.Exists {
			t.Fatalf("row %d: previous score %v after %+v", i, previous, before)
		}
		board := m.board(r.receipt.Board)
		if previous := r.receipt.PreviousSubscore; previous != nil && *previous != before.Subscore ||
			(previous != nil) != (board.HasSubscores() && r.receipt.Previous != nil) {
			t.Fatalf("row %d: previous subscore %v after %+v", i, previous, before)
		}
		pair := scoreboard.Pair{Score: r.receipt.NewScore, Subscore: r.receipt.NewSubscore}
		if key, subKey := board.Keys(pair); r.key != key || r.subKey != subKey {
			t.Fatalf("row %d: keys %d and %d, want %d and %d", i, r.key, r.subKey, key, subKey)
		}
		// A score that is hidden before and after may begin to exist unseen: a submission tells the ranking
		// nevertheless, also in the microsecond of the change before.
		changed := before.Version == 0 || !before.Exists && !r.admin || r.receipt.NewScore != before.Value ||
			r.receipt.NewSubscore != before.Subscore || r.hidden != before.Hidden ||
			!r.reached.Equal(before.ReachedAt)
		revision := before.Revision
		if changed {
			revision++
		}
		if r.changed != changed || r.revision != revision {
			t.Fatalf("row %d: changed %t, revision %d: %+v after %+v", i, r.changed, r.revision, r, before)
		}
		if b.Rows.Last[i] != (last[key] == i) {
			t.Fatalf("row %d of %s: last is %t", i, key, b.Rows.Last[i])
		}
		if at := m.times[r.user]; !r.receipt.RecordedAt.Equal(at) {
			t.Fatalf("row %d is recorded at %s, want %s", i, r.receipt.RecordedAt, at)
		}
		if got := b.Rows.Shards[i]; got != ledger.Shard(r.user, shards) {
			t.Fatalf("row %d: shard %d", i, got)
		}
		m.rows = append(m.rows, r)
		m.scores[key] = ledger.Score{
			Exists: !r.empty, Hidden: r.hidden, Value: r.receipt.NewScore,
			Subscore: r.receipt.NewSubscore, Version: r.receipt.Version,
			Revision: r.revision, ReachedAt: r.reached, Uncounted: before.Uncounted,
			Metadata: scoreboard.Metadata(r.standing),
		}
		if b.Rows.Last[i] && i < len(b.Rows.Uncounted) {
			s := m.scores[key]
			s.Uncounted = uncounted[key] + b.Rows.Uncounted[i]
			m.scores[key] = s
		}
	}
	for i, id := range b.Tokens.Used {
		m.tokens[id] = b.Tokens.UsedFor[i]
	}
	for _, name := range b.UnusedUsers() {
		delete(m.users, scoreboard.UserID(name))
	}
	m.now = m.now.Add(time.Second)
}

// rowOf returns row i as a database reads the columns: a shorter one is null.
func rowOf(rows *ledger.Rows, i int) row {
	user := scoreboard.UserID(rows.Users[i])
	return row{
		user: user, event: rows.Events[i], hash: [16]byte(rows.Hashes[i]), delta: rows.Deltas[i],
		receipt: scoreboard.Receipt{
			User: user, Board: scoreboard.BoardID(rows.Boards[i]), NewScore: scoreboard.Score(rows.Scores[i]),
			Previous: (*scoreboard.Score)(rows.Previous[i]), Applied: rows.Applied[i], Version: rows.Versions[i],
			RecordedAt: rows.RecordedAt[i], PreviousSubscore: numberOf(rows.PreviousSubscores, i),
			NewSubscore: orZero(numberOf(rows.NewSubscores, i)),
		},
		subscore: orZero(numberOf(rows.Subscores, i)), subKey: int64(orZero(numberOf(rows.SubKeys, i))),
		admin:  rows.Sources[i] == string(scoreboard.SourceAdmin),
		action: optional(rows.Actions, i), country: optional(rows.Countries, i),
		revision: rows.Revisions[i], key: rows.OrderKeys[i], reached: rows.ReachedAt[i],
		changed: rows.Changed[i],
		hidden:  i < len(rows.Hidden) && rows.Hidden[i],
		empty:   i < len(rows.Empty) && rows.Empty[i],

		metadata: optional(rows.Metadata, i), standing: optional(rows.StandingMetadata, i),
	}
}

func optional(column []*string, i int) string {
	if i >= len(column) || column[i] == nil {
		return ""
	}
	return *column[i]
}

func numberOf(column []*int64, i int) *scoreboard.Score {
	if i >= len(column) {
		return nil
	}
	return (*scoreboard.Score)(column[i])
}

func orZero(s *scoreboard.Score) scoreboard.Score {
	if s == nil {
		return 0
	}
	return *s
}

func (m *memory) board(id scoreboard.BoardID) *scoreboard.Board {
	return m.boards[slices.IndexFunc(m.boards, func(b *scoreboard.Board) bool { return b.ID == id })]
}

// record decides a batch and keeps its rows.
func (m *memory) record(t rapid.TB, items ...scoreboard.Increment) []scoreboard.Outcome {
	t.Helper()
	b, err := m.begin(items, m.policy)
	if err != nil {
		t.Fatalf("read for the batch: %v", err)
	}
	b.Decide()
	m.commit(t, b)
	return b.Outcomes
}

// event returns a recorded event, as a correction needs it: a client's, else an internal
// one.
func (m *memory) event(t rapid.TB, user scoreboard.UserID, id scoreboard.EventID) ledger.Event {
	t.Helper()
	for _, internal := range []bool{false, true} {
		e := ledger.Event{User: user, ID: id.UUID, Admin: internal}
		for _, r := range m.rows {
			if r.user == user && r.event == id.UUID && r.admin == internal {
				e.Boards = append(e.Boards, r.receipt.Board)
				e.Applied = append(e.Applied, scoreboard.Pair{
					Score:    scoreboard.Score(r.receipt.Applied),
					Subscore: r.receipt.NewSubscore - orZero(r.receipt.PreviousSubscore),
				})
				e.Action = r.action
			}
		}
		if len(e.Boards) > 0 {
			return e
		}
	}
	t.Fatalf("event %s of %s is not recorded", id.Text, user)
	return ledger.Event{}
}

// correct corrects events together or, if one of them cannot be corrected, each
// separately.
func (m *memory) correct(t rapid.TB, how ledger.Correction, events ...ledger.Event) []scoreboard.Outcome {
	t.Helper()
	outcomes, err := m.correctOnce(t, &how, events)
	if err != nil && len(events) > 1 {
		outcomes = nil
		for _, e := range events {
			outcomes = append(outcomes, m.correct(t, how, e)...)
		}
	}
	return outcomes
}

func (m *memory) correctOnce(
	t rapid.TB, how *ledger.Correction, events []ledger.Event,
) ([]scoreboard.Outcome, error) {
	t.Helper()
	items := make([]scoreboard.Increment, len(events))
	for i := range events {
		items[i] = how.Item(&events[i])
	}
	return m.correctAs(t, how, events, items)
}

// correctAs corrects events by items.
func (m *memory) correctAs(
	t rapid.TB, how *ledger.Correction, events []ledger.Event, items []scoreboard.Increment,
) ([]scoreboard.Outcome, error) {
	t.Helper()
	b, err := m.begin(items, nil)
	if err != nil {
		t.Fatalf("read for the corrections: %v", err)
	}
	apply, replayed := b.Plan(how, events, m.reversals)
	for _, i := range replayed {
		b.Outcomes[i].Receipts = []scoreboard.Receipt{{User: events[i].User, Replayed: true}}
	}
	changes := make(map[ledger.EventKey]bool)
	for _, i := range apply {
		changes[events[i].Key()] = !how.Undo
	}
	fold := func(user scoreboard.UserID, board *scoreboard.Board) (ledger.Standing, error) {
		return m.fold(b, user, board, changes), nil
	}
	for _, i := range apply {
		o := &b.Outcomes[i]
		if o.Receipts, o.Err = b.Correct(i, how, &events[i], fold); o.Err != nil && len(events) > 1 {
			return nil, o.Err
		}
	}
	b.Finalize()
	m.commit(t, b)
	for _, i := range apply {
		switch {
		case b.Outcomes[i].Err != nil:
		case how.Undo:
			delete(m.reversals, events[i].Key())
		default:
			m.reversals[events[i].Key()] = ledger.Reversal{ID: items[i].Event.UUID, Void: how.Void}
		}
	}
	return b.Outcomes, nil
}

// fold recomputes a score from the rows.
func (m *memory) fold(
	b *ledger.Batch, user scoreboard.UserID, board *scoreboard.Board, changes map[ledger.EventKey]bool,
) ledger.Standing {
	f := b.NewFold(user, board, changes)
	for _, r := range m.rows {
		if r.user != user || r.receipt.Board != board.ID {
			continue
		}
		_, reversed := m.reversals[ledger.EventKey{User: user, Event: r.event, Internal: r.admin}]
		f.Add(&ledger.FoldRow{
			Event: r.event, Delta: r.delta, Admin: r.admin, Action: r.action, At: r.receipt.RecordedAt,
			Version: r.receipt.Version, Before: r.receipt.NewScore - scoreboard.Score(r.receipt.Applied),
			Existed: r.receipt.Previous != nil, Reversed: reversed,
			Metadata: scoreboard.Metadata(r.metadata), Subscore: r.subscore,
			SubscoreBefore: orZero(r.receipt.PreviousSubscore),
		})
	}
	return f.Standing()
}

// adjust adds delta to a score and something to its subscore, as an operator.
func (m *memory) adjust(
	t rapid.TB, user scoreboard.UserID, delta int64, event string, board scoreboard.BoardID,
	subscore ...scoreboard.Score,
) (outcome scoreboard.Outcome, replayed bool) {
	t.Helper()
	in := increment(user, delta, event, board)
	in.Source, in.Action = scoreboard.SourceAdmin, ledger.ActionAdjust
	if len(subscore) > 0 {
		in.Subscore = &subscore[0]
	}
	b, err := m.begin([]scoreboard.Increment{in}, nil)
	if err != nil {
		t.Fatalf("read for the adjustment: %v", err)
	}
	replayed, err = b.Adjust()
	b.Outcomes[0].Err = err
	b.Finalize()
	m.commit(t, b)
	return b.Outcomes[0], replayed
}

// setStatus changes a user's status and hides or shows the user's scores, as
// package moderation does.
func (m *memory) setStatus(user scoreboard.UserID, status string) {
	m.users[user] = status
	m.hide(user)
}

// setPrivate has a user leave all boards, or come back, as package visibility of the store does.
func (m *memory) setPrivate(user scoreboard.UserID, private bool) {
	m.private[user] = private
	m.hide(user)
}

func (m *memory) hide(user scoreboard.UserID) {
	for k, s := range m.scores {
		hidden := m.users[user] == scoreboard.UserBanned || m.private[user] || !s.Exists
		if k.User == user && hidden != s.Hidden {
			s.Hidden = hidden
			s.Revision++
			m.scores[k] = s
		}
	}
}

// standing is a score as the tests compare it.
type standing struct {
	score             scoreboard.Score
	exists            bool
	version, revision int64
}

func (m *memory) standing(user scoreboard.UserID, board scoreboard.BoardID) standing {
	s := m.scores[ledger.ScoreKey{User: user, Board: board}]
	return standing{s.Value, s.Exists, s.Version, s.Revision}
}

// wantCode fails the test unless err has a code; "" is success.
func wantCode(t rapid.TB, what string, err error, want wire.Code) {
	t.Helper()
	if got := wire.CodeOf(err); got != want {
		t.Fatalf("%s: %v, want code %q", what, err, want)
	}
}

// wantReceipt fails the test unless a receipt has this score, applied amount and
// version.
func wantReceipt(t *testing.T, what string, got scoreboard.Receipt, score scoreboard.Score, applied, version int64) {
	t.Helper()
	if got.NewScore != score || got.Applied != applied || got.Version != version {
		t.Errorf("%s: score %d, applied %d, version %d; want %d, %d, %d",
			what, got.NewScore, got.Applied, got.Version, score, applied, version)
	}
}
