package history_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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
	"sum":  {Mode: scoreboard.ModeIncrement, Order: scoreboard.OrderHighest},
	"high": {Mode: scoreboard.ModeBest, Order: scoreboard.OrderHighest, Ties: scoreboard.TiesShared},
	"low":  {Mode: scoreboard.ModeBest, Order: scoreboard.OrderLowest, Ties: scoreboard.TiesShared},
	"last": {Mode: scoreboard.ModeLatest, Order: scoreboard.OrderHighest},
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
		conn.Do(t, `insert into boards (board_id, family_id, mode, sort_order, min_delta, max_delta, ties)
values ($1, $1, $2, $3, -100, 100, nullif($4, ''))`, id, b.Mode, b.Order, b.Ties)
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
			key: in.KeyID,
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
	rows, err := w.conn.Query(w.t.Context(), `select user_id || ' ' || score from scores
where board_id = $1 and not hidden order by order_key, reached_at, user_id`, board)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			w.t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
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
	type standing struct {
		user    scoreboard.UserID
		score   int64
		reached time.Time
	}
	scores := make(map[scoreboard.UserID]*standing)
	b := modes[board]
	for _, e := range w.events {
		hidden := w.banned[e.user] || w.private[e.user] || w.erased[e.user]
		if e.board != board || e.reversed || hidden || e.at.After(at) {
			continue
		}
		s := scores[e.user]
		if s == nil {
			scores[e.user] = &standing{e.user, e.delta, e.at}
			continue
		}
		next := e.delta
		switch {
		case b.Mode == scoreboard.ModeIncrement:
			next += s.score
		case b.Mode == scoreboard.ModeBest && b.Order == scoreboard.OrderHighest:
			next = max(next, s.score)
		case b.Mode == scoreboard.ModeBest:
			next = min(next, s.score)
		}
		if next != s.score {
			s.score, s.reached = next, e.at
		}
	}
	var all []*standing
	for _, s := range scores {
		all = append(all, s)
	}
	slices.SortFunc(all, func(p, q *standing) int {
		if p.score != q.score {
			if (p.score > q.score) == (b.Order == scoreboard.OrderHighest) {
				return -1
			}
			return 1
		}
		if c := p.reached.Compare(q.reached); c != 0 {
			return c
		}
		return strings.Compare(string(p.user), string(q.user))
	})
	var lines []string
	for _, s := range all {
		lines = append(lines, fmt.Sprintf("%s %d", s.user, s.score))
	}
	return lines
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
			got = append(got, fmt.Sprintf("%s %d", e.User, e.Score))
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
			around = append(around, fmt.Sprintf("%s %d", e.User, e.Score))
			if e.Rank != rank(board, want, max(i-2, 0)+j) {
				w.t.Fatalf("%s at %v: neighbour %s of %s has rank %d", board, at, e.User, user, e.Rank)
			}
		}
		if place.Rank != rank(board, want, i) || !slices.Equal(around, want[max(i-2, 0):min(i+3, len(want))]) {
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
				n, err := strconv.ParseInt(score, 10, 64)
				if err != nil {
					w.t.Fatal(err)
				}
				p.Score, p.Rank, on = scoreboard.Score(n), rank(board, lines, i), true
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
