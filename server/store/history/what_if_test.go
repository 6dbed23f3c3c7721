package history_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// entry is an event or adjustment of the model.
type entry struct {
	user     scoreboard.UserID
	id       scoreboard.EventID
	delta    int64
	sub      int64 // 0 on a board without subscores
	key      string
	at       time.Time
	adjust   bool
	imported bool
	reversed bool
}

// history is a board with random events, of which the model keeps everything in memory.
type history struct {
	t       *testing.T
	s       *store.Store
	conn    *backends.Conn
	rng     *rand.Rand
	board   scoreboard.Board
	entries []*entry
	banned  map[scoreboard.UserID]bool
}

func newHistory(
	t *testing.T, mode scoreboard.Mode, order scoreboard.Order, subscore ...scoreboard.Order,
) *history {
	t.Helper()
	s, conn := storetest.New(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	h := &history{
		t: t, s: s, conn: conn, rng: rand.New(rand.NewPCG(seed, 0)), banned: make(map[scoreboard.UserID]bool),
		board: scoreboard.Board{
			ID: "b", Family: "b", Mode: mode, Order: order,
			Subscore: cmp.Or(subscore...), Status: scoreboard.StatusActive,
			MinDelta: -100, MaxDelta: 100,
			MinScore: -10, MaxScore: 100_000, Created: time.Now().Add(-time.Hour),
		},
	}
	conn.Do(t, `insert into boards (board_id, family_id, mode, sort_order, min_delta, max_delta, min_score, max_score,
    subscore, min_subscore, max_subscore)
values ('b', 'b', $1, $2, -100, 100, -10, 100000, nullif($3, ''), case when $3 <> '' then -9 end,
    case when $3 <> '' then 9 end)`, mode, order, h.board.Subscore)
	s.PastBoards.SetBlockUsers(3)
	return h
}

func (h *history) step() {
	h.t.Helper()
	ctx := h.t.Context()
	user := scoreboard.UserID(fmt.Sprintf("u%02d", h.rng.IntN(12)))
	switch kind := h.rng.IntN(40); {
	case kind < 28:
		h.submit(user, []int64{-6, -2, 1, 2, 3, 5, 8, 40}[h.rng.IntN(8)])
	case kind < 31:
		id := scoreboard.NewEventID()
		delta := 1 + h.rng.Int64N(9)
		if !slices.ContainsFunc(h.entries, func(e *entry) bool { return e.user == user }) {
			return // an adjustment needs a user
		}
		e := &entry{user: user, id: id, delta: delta, adjust: true}
		a := scoreboard.Adjustment{User: user, Board: "b", Delta: delta, Subscore: h.subscore(), Event: id}
		receipt, err := h.s.Corrections.Adjust(ctx, a, because("user.adjust"))
		if err != nil {
			h.t.Fatal(err)
		}
		if e.at = receipt.RecordedAt; a.Subscore != nil {
			e.sub = int64(*a.Subscore)
		}
		h.entries = append(h.entries, e)
	case kind < 35 && len(h.entries) > 0:
		e := h.entries[h.rng.IntN(len(h.entries))]
		if e.reversed || e.imported {
			return
		}
		how := scoreboard.Reversing{Kind: scoreboard.KindEvent}
		if e.adjust {
			how.Kind = scoreboard.KindAdjustment
		}
		_, _, err := h.s.Corrections.Reverse(ctx, e.user, e.id, how, because("event.reverse"))
		if wire.CodeOf(err) == wire.CodeScoreOutOfRange {
			return
		}
		if err != nil {
			h.t.Fatal(err)
		}
		e.reversed = true
	case kind < 37 && len(h.entries) > 0:
		change := h.s.Moderation.Ban
		if h.banned[user] {
			change = h.s.Moderation.Unban
		}
		if !slices.ContainsFunc(h.entries, func(e *entry) bool { return e.user == user }) {
			return
		}
		if _, err := change(ctx, user, because("user.ban")); err != nil {
			h.t.Fatal(err)
		}
		h.banned[user] = !h.banned[user]
	case kind == 37:
		checkpoint(h.t, h.s)
	case kind == 38:
		h.importScore(user)
	}
}

// importScore imports a total, and reads from the ledger which event this became.
func (h *history) importScore(user scoreboard.UserID) {
	h.t.Helper()
	i, err := h.s.Imports.StartImport(h.t.Context(), "elsewhere", "b", because("import.start"))
	if err != nil {
		h.t.Fatal(err)
	}
	records := []scoreboard.ImportRecord{{
		User: user, Score: scoreboard.Score(1 + h.rng.IntN(60)), Subscore: h.subscore(),
	}}
	out, err := h.s.Imports.WriteImport(h.t.Context(), i.ID, records, because("import.records"))
	if err != nil {
		h.t.Fatal(err)
	}
	if out.Written == 0 {
		return // unchanged, or the user is banned
	}
	e := &entry{user: user, imported: true}
	err = h.conn.QueryRow(h.t.Context(), `select delta, coalesce(subscore, 0), recorded_at from user_score_histories
where user_id = $1 and action = 'import' order by version desc limit 1`, user).Scan(&e.delta, &e.sub, &e.at)
	if err != nil {
		h.t.Fatal(err)
	}
	h.entries = append(h.entries, e)
}

func (h *history) submit(user scoreboard.UserID, delta int64) {
	h.t.Helper()
	in := scoreboard.Increment{
		User: user, Boards: []scoreboard.BoardID{"b"}, Delta: delta, Source: scoreboard.SourceAPI,
		Event: scoreboard.NewEventID(), KeyID: fmt.Sprintf("k%d", h.rng.IntN(4)), Subscore: h.subscore(),
	}
	outcomes, err := h.s.Increments.Record(h.t.Context(), []scoreboard.Increment{in})
	if err != nil {
		h.t.Fatal(err)
	}
	if err := outcomes[0].Err; err != nil {
		if code := wire.CodeOf(err); code != wire.CodeForbidden && code != wire.CodeScoreOutOfRange {
			h.t.Fatal(err)
		}
		return
	}
	at := outcomes[0].Receipts[0].RecordedAt
	h.entries = append(h.entries, &entry{
		user: user, id: in.Event, delta: delta, sub: int64(in.Submitted().Subscore), key: in.KeyID, at: at,
	})
}

// subscore draws one, or none.
func (h *history) subscore() *scoreboard.Score {
	if n := h.rng.Int64N(5); h.board.HasSubscores() && n < 4 {
		return new(scoreboard.Score(n - 2))
	}
	return nil
}

// ask asks the store.
func (h *history) ask(w scoreboard.WhatIf) *scoreboard.WhatIfResult {
	h.t.Helper()
	w.Keep = true
	if w.Limit == 0 {
		w.Limit = scoreboard.MaxWhatIfChanges
	}
	r, err := h.s.PastBoards.WhatIf(h.t.Context(), &h.board, &w, func(int64) {})
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// row is a line of a standing of the model.
type row struct {
	user       scoreboard.UserID
	score, sub int64
	reached    time.Time
}

// rank sorts rows and returns the rank of each user.
func (h *history) rank(rows []row, ties scoreboard.Ties) map[scoreboard.UserID]int64 {
	better := func(p, q row) int {
		switch {
		case p.score != q.score && (p.score > q.score) == (h.board.Order == scoreboard.OrderHighest):
			return -1
		case p.score != q.score:
			return 1
		case p.sub != q.sub && (p.sub > q.sub) == (h.board.Subscore == scoreboard.OrderHighest):
			return -1
		case p.sub != q.sub:
			return 1
		}
		return 0
	}
	slices.SortFunc(rows, func(p, q row) int {
		if c := better(p, q); c != 0 {
			return c
		}
		if c := p.reached.Compare(q.reached); c != 0 {
			if ties == scoreboard.TiesLast {
				return -c
			}
			return c
		}
		return strings.Compare(string(p.user), string(q.user))
	})
	ranks := make(map[scoreboard.UserID]int64)
	for i, r := range rows {
		ranks[r.user] = int64(i + 1)
		if ties == scoreboard.TiesShared && i > 0 && better(rows[i-1], r) == 0 {
			ranks[r.user] = ranks[rows[i-1].user]
		}
	}
	return ranks
}

// want computes a what-if from all entries in memory: of each user the ranks and scores now
// and then, and the rejected events in order.
func (h *history) want(w scoreboard.WhatIf) (lines []string, rejected []string) {
	h.t.Helper()
	rows, err := h.conn.Query(h.t.Context(), `select user_id, score, subscore, reached_at from scores
where board_id = 'b' and not hidden order by user_id`)
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	var now, then []row
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.user, &r.score, &r.sub, &r.reached); err != nil {
			h.t.Fatal(err)
		}
		now = append(now, r)
	}
	scores, before := make(map[scoreboard.UserID]row), make(map[scoreboard.UserID]row)
	for _, r := range now {
		before[r.user] = r
		to, bad := h.judge(w, r.user)
		rejected = append(rejected, bad...)
		switch {
		case len(bad) == 0 && (w.Rules.Mode == "" || !h.counts(w.Since, r.user)):
			to = &r
		case to == nil:
			continue
		}
		scores[r.user] = *to
		then = append(then, *to)
	}
	was, is := h.rank(now, scoreboard.TiesFirst), h.rank(then, w.Rules.Ties)
	for _, r := range now {
		p, q := before[r.user], scores[r.user]
		if was[r.user] != is[r.user] || p.score != q.score || p.sub != q.sub {
			lines = append(lines, fmt.Sprintf("%s %d→%d %d,%d→%d,%d", r.user, was[r.user], is[r.user], p.score, p.sub,
				q.score, q.sub))
		}
	}
	slices.Sort(lines)
	return lines, rejected
}

// counts reports whether an entry of a user since a time counts now.
func (h *history) counts(since time.Time, user scoreboard.UserID) bool {
	return slices.ContainsFunc(h.entries, func(e *entry) bool {
		return e.user == user && !e.reversed && !e.at.Before(since)
	})
}

// judge counts the entries of a user under the rules, nil if none counts.
func (h *history) judge(w scoreboard.WhatIf, user scoreboard.UserID) (to *row, rejected []string) {
	r := w.Rules
	var last time.Time
	var past []*entry
	diverged := false
	for _, e := range h.entries {
		if e.user != user || e.reversed {
			continue
		}
		mode, since := h.board.Mode, !e.at.Before(w.Since)
		if since && r.Mode != "" {
			mode, diverged = r.Mode, true
		}
		next, sub := e.delta, e.sub
		if to != nil {
			p, q := &standing{score: e.delta, sub: e.sub}, &standing{score: to.score, sub: to.sub}
			switch {
			case e.adjust, mode == scoreboard.ModeIncrement:
				next, sub = next+to.score, sub+to.sub
			case mode == scoreboard.ModeBest && !ahead(&h.board, p, q):
				next, sub = to.score, to.sub
			}
		}
		if since && !e.adjust && !e.imported {
			largest := int64(0)
			for _, p := range past[max(0, len(past)-50):] {
				largest = max(largest, p.delta, -p.delta)
			}
			size := r.Anomalies.Size == scoreboard.AnomalyEnforce && len(past) >= 5 &&
				max(e.delta, -e.delta) > largest*r.Anomalies.SizeFactor
			if slices.Contains(r.VoidUsers, user) || slices.Contains(r.VoidKeys, e.key) ||
				r.MinDelta != nil && e.delta < *r.MinDelta || r.MaxDelta != nil && e.delta > *r.MaxDelta ||
				!last.IsZero() && e.at.Sub(last) < r.Cooldown || diverged && (next < -10 || next > 100_000) || size {
				rejected = append(rejected, string(user)+"\x00"+string(e.id.UUID[:]))
				diverged = true
				continue
			}
		}
		if !e.adjust && !e.imported {
			last, past = e.at, append(past, e)
		}
		if to == nil || to.score != next || to.sub != sub {
			to = &row{user, next, sub, e.at}
		}
	}
	return to, rejected
}

func number(n int64) *int64 { return &n }

// check compares a what-if with the model.
func (h *history) check(w scoreboard.WhatIf) *scoreboard.WhatIfResult {
	h.t.Helper()
	got := h.ask(w)
	lines, rejected := h.want(w)
	var shown, bad []string
	for _, c := range got.Changes {
		shown = append(shown, fmt.Sprintf("%s %d→%d %d,%d→%d,%d", c.User, c.Rank, c.NewRank, c.Score, c.Subscore,
			c.NewScore, c.NewSubscore))
		if len(c.Deciding) != min(int(c.Rejected), scoreboard.MaxWhatIfDeciding) {
			h.t.Fatalf("%s has %d deciding of %d rejected events", c.User, len(c.Deciding), c.Rejected)
		}
	}
	slices.Sort(shown)
	for _, e := range got.Events {
		bad = append(bad, string(e.User)+"\x00"+string(e.Event[:]))
	}
	if !slices.Equal(shown, lines) || !slices.Equal(bad, rejected) {
		h.t.Fatalf("%s %s, rules %+v since %v:\n got %v, %d events\nwant %v, %d events", h.board.Mode, h.board.Order,
			w.Rules, w.Since, shown, len(bad), lines, len(rejected))
	}
	if sum := sha256.Sum256([]byte(strings.Join(rejected, ""))); got.Digest != hex.EncodeToString(sum[:]) {
		h.t.Fatalf("digest %s is not that of the events", got.Digest)
	}
	if got.Up+got.Down+got.Left > got.Changed || int(got.Changed) != len(lines) || int(got.Rejected) != len(rejected) {
		h.t.Fatalf("the counts do not fit: %+v", got)
	}
	return got
}

// rules are random rules; of those that can be applied only, if apply is set.
func (h *history) rules(apply bool) (r scoreboard.WhatIfRules) {
	other := map[scoreboard.Mode]scoreboard.Mode{
		scoreboard.ModeIncrement: scoreboard.ModeBest, scoreboard.ModeBest: scoreboard.ModeLatest,
		scoreboard.ModeLatest: scoreboard.ModeIncrement,
	}
	for !r.Rejects() && r.Mode == "" && r.Ties == "" {
		for i, set := range []func(){
			func() { r.MinDelta = number(h.rng.Int64N(4)) },
			func() { r.MaxDelta = number(4 + h.rng.Int64N(10)) },
			func() { r.Cooldown = time.Duration(h.rng.IntN(20_000)) * time.Microsecond },
			func() { r.VoidUsers = []scoreboard.UserID{"u01", "u05", "nobody"} },
			func() { r.VoidKeys = []string{"k2"} },
			func() {
				off := scoreboard.AnomalyOff
				r.Anomalies = scoreboard.Anomalies{
					Size: scoreboard.AnomalyEnforce, SizeFactor: 2, Frequency: off, Amount: off, Travel: off,
				}
			},
			func() { r.Mode = other[h.board.Mode] },
			func() {
				all := []scoreboard.Ties{scoreboard.TiesFirst, scoreboard.TiesLast, scoreboard.TiesShared}
				r.Ties = all[h.rng.IntN(len(all))]
			},
		} {
			if h.rng.IntN(4) == 0 && (i < 6 || !apply) {
				set()
			}
		}
	}
	return r
}

func (h *history) since() time.Time {
	if len(h.entries) == 0 || h.rng.IntN(6) == 0 {
		return time.Unix(0, 0)
	}
	return h.entries[h.rng.IntN(len(h.entries))].at
}

// state is all that a what-if must not change.
func (h *history) state() (text string) {
	h.t.Helper()
	err := h.conn.QueryRow(h.t.Context(), `select concat_ws('|', (select md5(string_agg(s::text, '' order by s::text))
from scores as s), (select count(*) from user_score_histories), (select count(*) from reversals),
(select count(*) from voids), (select count(*) from void_events), (select count(*) from audit_log),
(select count(*) from outbox_score_updates), (select count(*) from checkpoints), (select count(*) from flags),
(select count(*) from corrected_standings))`).Scan(&text)
	if err != nil {
		h.t.Fatal(err)
	}
	return text
}

// A what-if is what counting all events again in memory gives, and changes nothing.
func TestWhatIfIsARecount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode     scoreboard.Mode
		order    scoreboard.Order
		subscore scoreboard.Order
	}{
		{scoreboard.ModeIncrement, scoreboard.OrderHighest, ""},
		{scoreboard.ModeBest, scoreboard.OrderLowest, ""},
		{scoreboard.ModeLatest, scoreboard.OrderHighest, ""},
		{scoreboard.ModeIncrement, scoreboard.OrderHighest, scoreboard.OrderHighest},
		{scoreboard.ModeBest, scoreboard.OrderLowest, scoreboard.OrderHighest},
		{scoreboard.ModeLatest, scoreboard.OrderHighest, scoreboard.OrderLowest},
	} {
		t.Run(string(c.mode)+" "+string(c.subscore), func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, c.mode, c.order, c.subscore)
			rejected := int64(0)
			for range 12 {
				for range 25 {
					h.step()
				}
				before := h.state()
				for range 6 {
					rejected += h.check(scoreboard.WhatIf{Since: h.since(), Rules: h.rules(false)}).Rejected
				}
				if after := h.state(); after != before {
					t.Fatalf("a what-if changed %s to %s", before, after)
				}
			}
			if rejected == 0 {
				t.Error("no rule rejected anything")
			}
		})
	}
}

func (h *history) work() {
	h.t.Helper()
	runVoids(h.t, h.s, h.conn)
}

// scores are the scores of all users.
func (h *history) scores() map[string]int64 {
	rows, err := h.conn.Query(h.t.Context(), `select user_id, score from scores where not empty`)
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	scores := make(map[string]int64)
	for rows.Next() {
		var user string
		var score int64
		if err := rows.Scan(&user, &score); err != nil {
			h.t.Fatal(err)
		}
		scores[user] = score
	}
	return scores
}

func (h *history) apply(r *scoreboard.WhatIfResult) (*scoreboard.Void, error) {
	return h.s.Corrections.CreateVoidOf(h.t.Context(), &scoreboard.VoidSet{
		Board: r.Board, Since: r.Since, Until: r.AsOf, Digest: r.Digest, Events: r.Events,
	}, because("void.create"))
}

// skipped is how many events a void, or its undo, has skipped: each leaves a score that would be
// out of bounds. Any other reason fails the test.
func (h *history) skipped(id int64) (n int64) {
	h.t.Helper()
	v, err := h.s.Corrections.Void(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	for reason, n := range v.SkippedFor {
		if !strings.Contains(reason, "outside the bounds") {
			h.t.Errorf("%d events skipped: %s", n, reason)
		}
	}
	return v.Skipped
}

// Applied, the scores are those of the what-if, which then changes nothing more. The undo
// restores every score.
func TestWhatIfAppliedAndUndone(t *testing.T) {
	t.Parallel()
	for _, mode := range []scoreboard.Mode{scoreboard.ModeIncrement, scoreboard.ModeBest} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, mode, scoreboard.OrderHighest)
			for range 200 {
				h.step()
			}
			undone := 0
			for range 6 {
				w := scoreboard.WhatIf{Since: h.since(), Rules: h.rules(true)}
				r := h.ask(w)
				if r.Rejected == 0 {
					continue
				}
				before := h.scores()
				v, err := h.apply(r)
				if err != nil {
					t.Fatal(err)
				}
				h.work()
				if h.skipped(v.ID) > 0 {
					continue // the what-if assumes that it can be applied
				}
				after := h.scores()
				for _, c := range r.Changes {
					if got := after[string(c.User)]; got != int64(c.NewScore) {
						t.Errorf("%s has %d after the void, want %d", c.User, got, c.NewScore)
					}
				}
				if again := h.ask(w); again.Rejected != 0 || again.Changed != 0 {
					t.Errorf("asked again: %+v, want no change", again)
				}
				if _, err := h.s.Corrections.UndoVoid(t.Context(), v.ID, because("void.undo")); err != nil {
					t.Fatal(err)
				}
				h.work()
				if h.skipped(v.ID) > 0 {
					continue
				}
				undone++
				if restored := h.scores(); !reflect.DeepEqual(restored, before) {
					t.Errorf("after the undo:\n got %v\nwant %v", restored, before)
				}
				if again := h.ask(w); again.Digest != r.Digest {
					t.Errorf("after the undo the rules reject %d other events, want the %d", again.Rejected, r.Rejected)
				}
			}
			if undone == 0 {
				t.Error("nothing was undone")
			}
		})
	}
}

// Of several operators who apply the same result at once, one starts a void.
func TestWhatIfAppliedAtOnce(t *testing.T) {
	t.Parallel()
	h := newHistory(t, scoreboard.ModeIncrement, scoreboard.OrderHighest)
	for range 30 {
		h.submit("u01", 5)
	}
	r := h.ask(scoreboard.WhatIf{Since: time.Unix(0, 0), Rules: scoreboard.WhatIfRules{MaxDelta: number(4)}})
	var started, conflicts int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := h.apply(r)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				started++
			case wire.CodeOf(err) == wire.CodeConflict:
				conflicts++
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if started != 1 || conflicts != 7 {
		t.Errorf("%d voids started and %d conflicts, want 1 and 7", started, conflicts)
	}
	if n := h.conn.Count(t, `select count(*) from void_events`); n != 30 {
		t.Errorf("%d events in voids, want 30", n)
	}
}

// While others write, both standings are of one snapshot: without rejected events they are the
// same, and the scores fit the judged events.
func TestWhatIfWhileOthersWrite(t *testing.T) {
	t.Parallel()
	h := newHistory(t, scoreboard.ModeIncrement, scoreboard.OrderHighest)
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for n := range 3 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, err := h.s.Increments.Record(ctx, []scoreboard.Increment{{
					User: scoreboard.UserID(fmt.Sprintf("u%d-%d", n, i%20)), Delta: int64(1 + i%2),
					Boards: []scoreboard.BoardID{"b"},
					Source: scoreboard.SourceAPI, Event: scoreboard.NewEventID(),
				}})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for range 30 {
		none := h.ask(scoreboard.WhatIf{Since: time.Unix(0, 0), Rules: scoreboard.WhatIfRules{MaxDelta: number(2)}})
		if none.Changed != 0 || none.Rejected != 0 {
			t.Errorf("%+v, want no change", none)
		}
		half := h.ask(scoreboard.WhatIf{Since: time.Unix(0, 0), Rules: scoreboard.WhatIfRules{MaxDelta: number(1)}})
		for _, c := range half.Changes {
			if c.Score-c.NewScore != scoreboard.Score(2*c.Rejected) {
				t.Errorf("%s loses %d points by %d events of 2", c.User, c.Score-c.NewScore, c.Rejected)
			}
		}
	}
	cancel()
	writers.Wait()
}

// Callers take turns: one who has others waiting does not keep another from the next what-if.
func TestWhatIfCallersTakeTurns(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	take := func(caller string) (release func()) {
		release, err := s.PastBoards.TakeWhatIf(share.WithCaller(t.Context(), caller), &global)
		if err != nil {
			t.Errorf("%s: %v", caller, err)
			return func() {}
		}
		return release
	}
	release := take("eve")
	var order []string // a turn at a time
	var all sync.WaitGroup
	for i, caller := range []string{"eve", "eve", "ada"} {
		all.Go(func() {
			defer take(caller)()
			order = append(order, caller)
		})
		for s.PastBoards.WaitingWhatIfs() <= i {
			time.Sleep(time.Millisecond)
		}
	}
	release()
	all.Wait()
	if len(order) != 3 || order[0] != "ada" {
		t.Errorf("got the order %v, want ada first", order)
	}
}

// A node runs one what-if at a time, and each reads a bounded number of events.
func TestWhatIfIsBounded(t *testing.T) {
	t.Parallel()
	h := newHistory(t, scoreboard.ModeIncrement, scoreboard.OrderHighest)
	for range 5 {
		h.submit("u01", 5)
	}
	w := scoreboard.WhatIf{Since: time.Unix(0, 0), Rules: scoreboard.WhatIfRules{MaxDelta: number(4)}, Limit: 1}
	h.s.PastBoards.SetMaxWhatIf(4)
	_, err := h.s.PastBoards.WhatIf(t.Context(), &h.board, &w, func(int64) {})
	if wire.CodeOf(err) != wire.CodeInvalidRequest {
		t.Errorf("5 events where 4 may be read: %v", err)
	}
	h.s.PastBoards.SetMaxWhatIf(5)
	release := h.s.PastBoards.HoldWhatIf()
	_, err = h.s.PastBoards.WhatIf(t.Context(), &h.board, &w, func(int64) {})
	if wire.CodeOf(err) != wire.CodeOverloaded {
		t.Errorf("a second one: %v", err)
	}
	release()
	if r := h.ask(w); r.Rejected != 5 {
		t.Errorf("%d events are rejected, want 5", r.Rejected)
	}
}
