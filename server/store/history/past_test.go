package history_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

func TestMain(m *testing.M) {
	backends.Main(m, goleak.IgnoreTopFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}

func because(action string) *scoreboard.AuditEntry {
	return &scoreboard.AuditEntry{Actor: "ops", Action: action, Target: "user:x", Reason: "test"}
}

func now(t testing.TB, s *store.Store) time.Time {
	t.Helper()
	at, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// checkpoint makes checkpoints of all boards that changed.
func checkpoint(t testing.TB, s *store.Store) {
	t.Helper()
	due, at, err := s.PastBoards.Count(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, board := range due {
		if _, err := s.PastBoards.Make(t.Context(), board, at, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

// submitted is an event that was recorded.
type submitted struct {
	user  scoreboard.UserID
	board scoreboard.BoardID
	id    scoreboard.EventID
	delta int64
	sub   int64 // of boards with subscores
	at    time.Time

	key      string
	imported bool
	reversed bool // by now
	archived bool // and cannot be reversed
}

// shown is what a board showed at a moment: lines of user and score, best first.
type shown struct {
	at    time.Time
	board scoreboard.BoardID
	lines []string
}

// world submits, corrects and moderates, and keeps what was shown after each step.
type world struct {
	t      *testing.T
	s      *store.Store
	conn   *backends.Conn
	rng    *rand.Rand
	boards []scoreboard.BoardID
	events []*submitted
	shown  []shown
	banned map[scoreboard.UserID]bool
	erased map[scoreboard.UserID]bool
	ended  map[scoreboard.BoardID]bool
	voids  []voided
	making bool // a checkpoint
	calm   bool // only three users are banned, leave all boards, and have events reversed

	private map[scoreboard.UserID]bool // who have left all boards
}

// voided is a void with the events that it reversed.
type voided struct {
	id     int64
	events []*submitted
}

var modes = map[scoreboard.BoardID]scoreboard.Board{
	"sum":   {Mode: scoreboard.ModeIncrement, Order: scoreboard.OrderHighest},
	"high":  {Mode: scoreboard.ModeBest, Order: scoreboard.OrderHighest, Ties: scoreboard.TiesShared},
	"low":   {Mode: scoreboard.ModeBest, Order: scoreboard.OrderLowest, Ties: scoreboard.TiesShared},
	"last":  {Mode: scoreboard.ModeLatest, Order: scoreboard.OrderHighest},
	"goals": {Mode: scoreboard.ModeIncrement, Order: scoreboard.OrderHighest, Subscore: scoreboard.OrderHighest},
	"duel": {
		Mode: scoreboard.ModeBest, Order: scoreboard.OrderLowest, Subscore: scoreboard.OrderHighest,
		Ties: scoreboard.TiesShared,
	},
	"draw": {Mode: scoreboard.ModeLatest, Order: scoreboard.OrderHighest, Subscore: scoreboard.OrderLowest},
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, conn := storetest.New(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := &world{
		t: t, s: s, conn: conn, rng: rand.New(rand.NewPCG(seed, 0)), banned: make(map[scoreboard.UserID]bool),
		erased: make(map[scoreboard.UserID]bool), ended: make(map[scoreboard.BoardID]bool),
		private: make(map[scoreboard.UserID]bool),
	}
	for id, b := range modes {
		conn.Do(t, `insert into boards (board_id, family_id, mode, sort_order, min_delta, max_delta, ties, subscore,
    min_subscore, max_subscore)
values ($1, $1, $2, $3, -100, 100, nullif($4, ''), nullif($5, ''), case when $5 <> '' then -100 end,
    case when $5 <> '' then 100 end)`, id, b.Mode, b.Order, b.Ties, b.Subscore)
		w.boards = append(w.boards, id)
	}
	slices.Sort(w.boards)
	s.PastBoards.SetBlockUsers(3)
	s.Visibility.MinPublic = 0 // what was shown stays as it was
	return w
}

func (w *world) user() scoreboard.UserID {
	return scoreboard.UserID(fmt.Sprintf("u%02d", w.rng.IntN(14)))
}

func (w *world) step() {
	w.t.Helper()
	ctx := w.t.Context()
	switch kind := w.rng.IntN(27); {
	case kind < 11:
		in := scoreboard.Increment{
			User: w.user(), Boards: []scoreboard.BoardID{w.boards[w.rng.IntN(len(w.boards))]},
			Delta: 1 + w.rng.Int64N(4), Source: scoreboard.SourceAPI, Event: scoreboard.NewEventID(),
			KeyID: fmt.Sprintf("k%d", w.rng.IntN(5)),
		}
		in.Subscore = w.subscore(in.Boards[0])
		outcomes, err := w.s.Increments.Record(ctx, []scoreboard.Increment{in})
		if err != nil {
			w.t.Fatal(err)
		}
		if err := outcomes[0].Err; err != nil {
			if !w.banned[in.User] && !w.erased[in.User] && !w.ended[in.Boards[0]] {
				w.t.Fatal(err)
			}
			return
		}
		w.events = append(w.events, &submitted{
			user: in.User, board: in.Boards[0], id: in.Event, delta: in.Delta, at: outcomes[0].Receipts[0].RecordedAt,
			key: in.KeyID, sub: int64(in.Submitted().Subscore),
		})
	case kind < 16 && len(w.events) > 0:
		e := w.events[w.rng.IntN(len(w.events))]
		if !w.reversible(e) || w.calm && e.user > "u02" {
			return
		}
		_, _, err := w.s.Corrections.Reverse(ctx, e.user, e.id, scoreboard.Reversing{}, because("event.reverse"))
		if err != nil {
			w.t.Fatal(err)
		}
		e.reversed = true
	case kind < 18 && len(w.events) > 0:
		user := w.events[w.rng.IntN(len(w.events))].user
		if w.erased[user] || w.calm && user > "u02" {
			return
		}
		change := w.s.Moderation.Ban
		if w.banned[user] {
			change = w.s.Moderation.Unban
		}
		if _, err := change(ctx, user, because("user.ban")); err != nil {
			w.t.Fatal(err)
		}
		w.banned[user] = !w.banned[user]
	case kind == 18 && !w.making:
		w.checkpoint()
	case kind < 21:
		w.importScore(w.user(), w.boards[w.rng.IntN(len(w.boards))])
	case kind == 21:
		w.void()
	case kind == 22 && len(w.voids) > 0:
		w.undo()
	case kind == 23 && len(w.events) > 0:
		w.hide(w.events[w.rng.IntN(len(w.events))].user)
	case kind == 24 && w.rng.IntN(4) == 0:
		w.end()
	case kind > 24 && len(w.events) > 0:
		user, to := w.events[w.rng.IntN(len(w.events))].user, scoreboard.VisibilityPrivate
		if w.erased[user] || w.calm && user > "u02" {
			return
		}
		if w.private[user] {
			to = scoreboard.VisibilityPublic
		}
		if _, _, err := w.s.Visibility.Put(ctx, user, to, because("user.privacy")); err != nil {
			w.t.Fatal(err)
		}
		w.private[user] = !w.private[user]
	}
	at := now(w.t, w.s)
	for _, board := range w.boards {
		w.shown = append(w.shown, shown{at, board, w.lines(board)})
	}
}

// checkpoint makes checkpoints while everything else goes on: before the snapshot is taken, and
// between the transactions.
func (w *world) checkpoint() {
	w.t.Helper()
	w.making = true
	defer func() { w.making = false }()
	due, at, err := w.s.PastBoards.Count(w.t.Context(), 1)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, board := range due {
		for range w.rng.IntN(4) {
			w.step()
		}
		if _, err := w.s.PastBoards.Make(w.t.Context(), board, at, func(context.Context) error {
			if w.rng.IntN(4) == 0 {
				w.step()
			}
			return nil
		}); err != nil && (wire.CodeOf(err) != wire.CodeConflict || !w.archived()) {
			w.t.Fatal(err) // without earlier events, the next attempt makes it
		}
	}
}

func (w *world) archived() bool { return len(w.events) > 0 && w.events[0].archived }

// lines is what a board shows now: the scores themselves, in order.
func (w *world) lines(board scoreboard.BoardID) []string {
	rows, err := w.conn.Query(w.t.Context(), `select user_id, score, subscore, reached_at from scores
where board_id = $1 and not hidden`, board)
	if err != nil {
		w.t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*standing, error) {
		var s standing
		return &s, row.Scan(&s.user, &s.score, &s.sub, &s.reached)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return linesOf(board, all)
}

// standing is a user's score as a test computes the order.
type standing struct {
	user       scoreboard.UserID
	score, sub int64
	reached    time.Time
}

// linesOf returns the lines of standings in the order of a board.
func linesOf(board scoreboard.BoardID, all []*standing) (lines []string) {
	b := modes[board]
	slices.SortFunc(all, func(p, q *standing) int {
		if ahead(&b, p, q) {
			return -1
		}
		if ahead(&b, q, p) {
			return 1
		}
		return cmp.Or(p.reached.Compare(q.reached), strings.Compare(string(p.user), string(q.user)))
	})
	for _, s := range all {
		lines = append(lines, lineOf(s.user, scoreboard.Score(s.score), scoreboard.Score(s.sub)))
	}
	return lines
}

// lineOf is the line of a user, with the subscore unless that is 0.
func lineOf(user scoreboard.UserID, score, sub scoreboard.Score) string {
	if sub == 0 {
		return fmt.Sprintf("%s %d", user, score)
	}
	return fmt.Sprintf("%s %d:%d", user, score, sub)
}

// ahead reports whether p is ahead of q by the scores alone.
func ahead(b *scoreboard.Board, p, q *standing) bool {
	if p.score != q.score {
		return (p.score > q.score) == (b.Order == scoreboard.OrderHighest)
	}
	return p.sub != q.sub && (p.sub > q.sub) == (b.Subscore == scoreboard.OrderHighest)
}

// subscore draws one for a board that has them; many are equal, and some are missing.
func (w *world) subscore(board scoreboard.BoardID) *scoreboard.Score {
	if n := w.rng.Int64N(5); modes[board].Subscore != "" && n < 4 {
		return new(scoreboard.Score(n - 2))
	}
	return nil
}

// rank is that of a line.
func rank(board scoreboard.BoardID, lines []string, i int) int64 {
	b := modes[board]
	if !b.SharesRanks() {
		return int64(i + 1)
	}
	score := func(line string) string { return line[strings.Index(line, " "):] }
	return 1 + int64(slices.IndexFunc(lines, func(line string) bool { return score(line) == score(lines[i]) }))
}

// today is what a board would have shown at a moment without the events that are reversed
// now and without the users that are hidden now.
func (w *world) today(board scoreboard.BoardID, at time.Time) []string {
	scores := make(map[scoreboard.UserID]*standing)
	b := modes[board]
	for _, e := range w.events {
		hidden := w.banned[e.user] || w.private[e.user] || w.erased[e.user]
		if e.board != board || e.reversed || hidden || e.at.After(at) {
			continue
		}
		s := scores[e.user]
		if s == nil {
			scores[e.user] = &standing{e.user, e.delta, e.sub, e.at}
			continue
		}
		next := &standing{e.user, e.delta, e.sub, e.at}
		switch {
		case b.Mode == scoreboard.ModeIncrement:
			next.score, next.sub = next.score+s.score, next.sub+s.sub
		case b.Mode == scoreboard.ModeBest && !ahead(&b, next, s):
			continue
		}
		if next.score != s.score || next.sub != s.sub {
			scores[e.user] = next
		}
	}
	var all []*standing
	for _, s := range scores {
		all = append(all, s)
	}
	return linesOf(board, all)
}

// check compares a board at a moment with the lines: the pages, the total, and every user's
// rank and neighbours.
func (w *world) check(board scoreboard.BoardID, at scoreboard.PastTime, want []string) {
	w.t.Helper()
	b := w.board(board)
	want = w.withoutErased(want)
	var got []string
	var after *scoreboard.Position
	for {
		top, err := w.s.PastBoards.Top(w.t.Context(), b, at, after, 4)
		if err != nil {
			w.t.Fatal(err)
		}
		if int(top.Total) != len(want) {
			w.t.Fatalf("%s at %v: %d users, want %d", board, at, top.Total, len(want))
		}
		for i, e := range top.Entries {
			got = append(got, lineOf(e.User, e.Score, e.Subscore))
			if n := len(got); e.Rank != rank(board, got, n-1) || top.Ordinal(i) != int64(n) {
				w.t.Fatalf("%s at %v: number %d, %s, has rank %d, want %d", board, at, n, e.User, e.Rank,
					rank(board, got, n-1))
			}
			p := top.Position(i, b)
			after = &p
		}
		if len(top.Entries) < 4 {
			break
		}
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("%s at %v:\n got %v\nwant %v", board, at, got, want)
	}
	for i, line := range want {
		user, _, _ := strings.Cut(line, " ")
		place, err := w.s.PastBoards.Place(w.t.Context(), b, at, scoreboard.UserID(user), 2)
		if err != nil {
			w.t.Fatal(err)
		}
		var around []string
		for j, e := range place.Neighbours {
			around = append(around, lineOf(e.User, e.Score, e.Subscore))
			if e.Rank != rank(board, want, max(i-2, 0)+j) {
				w.t.Fatalf("%s at %v: neighbour %s of %s has rank %d", board, at, e.User, user, e.Rank)
			}
		}
		if lineOf(place.User, place.Score, place.Subscore) != line || place.Rank != rank(board, want, i) ||
			!slices.Equal(around, want[max(i-2, 0):min(i+3, len(want))]) {
			w.t.Fatalf("%s at %v: %s has rank %d and neighbours %v, want rank %d of %v", board, at, user, place.Rank,
				around, rank(board, want, i), want)
		}
	}
}

// Whatever happened since, a board at a moment is what it showed then; with today's bans and
// reversals it is what the events that count today add up to.
func TestMomentsAreWhatWasShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 350 {
		if i%120 == 90 {
			w.erase()
		}
		w.step()
	}
	for range 150 {
		s := w.shown[w.rng.IntN(len(w.shown))]
		w.check(s.board, scoreboard.PastTime{At: s.at}, s.lines)
		w.check(s.board, scoreboard.PastTime{At: s.at, Now: true}, w.today(s.board, s.at))
	}
	if n := w.conn.Count(t, `select count(*) from checkpoints where complete`); n < 4 {
		t.Errorf("%d checkpoints were made, want more", n)
	}
}

// scanPair reads a score with a subscore, if there is one.
func scanPair(t *testing.T, text string, score, sub *scoreboard.Score) {
	t.Helper()
	first, second, found := strings.Cut(text, ":")
	_, err := fmt.Sscan(first, score)
	if err == nil && found {
		_, err = fmt.Sscan(second, sub)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkHistory compares a user's ranks at some of the moments with what was shown at each.
func (w *world) checkHistory(board scoreboard.BoardID, user scoreboard.UserID, asNow bool, at []shown) {
	w.t.Helper()
	b := w.board(board)
	var times []time.Time
	var want []scoreboard.RankPoint
	on := false
	for _, s := range at {
		lines := s.lines
		if asNow {
			lines = w.today(board, s.at)
		}
		lines = w.withoutErased(lines)
		p := scoreboard.RankPoint{At: s.at.UTC(), Total: int64(len(lines))}
		for i, line := range lines {
			if name, score, _ := strings.Cut(line, " "); name == string(user) {
				scanPair(w.t, score, &p.Score, &p.Subscore)
				p.Rank, on = rank(board, lines, i), true
			}
		}
		times, want = append(times, s.at), append(want, p)
	}
	got, err := w.s.PastBoards.History(w.t.Context(), b, scoreboard.PastTime{Now: asNow}, user, times)
	if !on && wire.CodeOf(err) == wire.CodeNotFound {
		return
	}
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range want {
		if got[i] != want[i] {
			w.t.Fatalf("%s on %s, as now %t, at %v (%d of %d): got %+v, want %+v", user, board, asNow, want[i].At, i,
				len(want), got[i], want[i])
		}
	}
}

// A user's ranks over time are what the board showed at each moment, whatever else happened
// between them and however many checkpoints they are read from.
func TestHistoryIsWhatWasShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 350 {
		if i%120 == 90 {
			w.erase()
		}
		w.step()
	}
	for range 120 {
		board := w.boards[w.rng.IntN(len(w.boards))]
		var at []shown
		for _, s := range w.shown {
			if s.board == board && w.rng.IntN(4) == 0 {
				at = append(at, s)
			}
		}
		first := w.rng.IntN(len(at))
		w.checkHistory(board, w.user(), w.rng.IntN(2) == 0, at[first:])
	}
}
