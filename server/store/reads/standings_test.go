package reads_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

var global = &scoreboard.Board{ID: scoreboard.GlobalBoard, Family: scoreboard.GlobalBoard}

func increment(user scoreboard.UserID, delta int64, event, key string) scoreboard.Increment {
	id, err := scoreboard.ParseEventID(user, event)
	if err != nil {
		panic(err)
	}
	return scoreboard.Increment{
		User: user, Delta: delta, Event: id, Boards: []scoreboard.BoardID{scoreboard.GlobalBoard},
		Source: scoreboard.SourceAPI, KeyID: key,
	}
}

func record(t *testing.T, s *store.Store, batch ...scoreboard.Increment) {
	t.Helper()
	if _, err := s.Increments.Record(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

// different counts the users whose standing is not their score.
const different = `select count(*) from scores as c
full join standings as s using (board_id, user_id)
where (c.order_key, c.sub_key, c.reached_at, c.hidden, c.revision)
    is distinct from (s.order_key, s.sub_key, s.reached_at, s.hidden, s.revision)`

func same(t *testing.T, conn *backends.Conn) {
	t.Helper()
	if n := conn.Count(t, different); n != 0 {
		t.Errorf("%d standings differ from the scores", n)
	}
}

func databaseTime(t *testing.T, conn *backends.Conn) (at time.Time) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), `select clock_timestamp()`).Scan(&at); err != nil {
		t.Fatal(err)
	}
	return at
}

// sqlChange changes alice's score as a recorded increment does.
const sqlChange = `with c as (
    update scores set score = score + 1, order_key = order_key - 1, version = version + 1, revision = revision + 1,
        reached_at = clock_timestamp() where user_id = 'alice' returning *)
insert into outbox_score_updates (shard, event_id, user_id, board_id, score, delta, order_key, version, revision,
    reached_at, recorded_at, hidden)
select 0, gen_random_uuid(), user_id, board_id, score, 1, order_key, version, revision, reached_at, recorded_at, hidden
from c`

// overtake commits two changes of alice in the reverse order of their transaction ids: one
// transaction gets its id first, and writes last. Between them it calls between.
func overtake(t *testing.T, conn *backends.Conn, between func()) {
	t.Helper()
	late := backends.Connect(t, conn.URL)
	tx, err := late.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `select pg_current_xact_id()`); err != nil {
		t.Fatal(err)
	}
	conn.Do(t, sqlChange)
	between()
	if _, err := tx.Exec(t.Context(), sqlChange); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Nothing but its revision keeps the older change from being the last.
	if n := conn.Count(t, `select count(*) from outbox_score_updates as a join outbox_score_updates as b
    on (a.xid, a.id) < (b.xid, b.id) and a.revision > b.revision`); n != 1 {
		t.Fatalf("%d changes are in another order than their revisions, want 1", n)
	}
}

// A transaction that commits late is not missed, and until then as_of stays before it.
func TestLateTransactionIsNotMissed(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	record(t, s, increment("alice", 5, "one", "k"))
	storetest.UpdateStandings(t, s)
	overtake(t, conn, func() {
		began := databaseTime(t, conn)
		for range 3 {
			if _, _, err := s.Standings.Update(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		page, err := s.Reads.Page(t.Context(), global, nil, 10)
		if err != nil || page.AsOf.After(began) {
			t.Fatalf("while a transaction is running: got %+v, %v, want as of %s or earlier", page, err, began)
		}
	})
	storetest.UpdateStandings(t, s)
	same(t, conn)
	after, err := s.Reads.Page(t.Context(), global, nil, 10)
	if err != nil || len(after.Entries) != 1 || after.Entries[0].Score != 7 {
		t.Errorf("got %+v, %v, want alice with 7", after, err)
	}
}

// Revisions decide, not cursors: also where each change is a pass of its own, and where
// all of them are read again.
func TestStandingsDoNotGoBack(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	s.Standings.SetSizes(1, 1)
	storetest.UpdateStandings(t, s)
	record(t, s, increment("alice", 5, "one", "k"))
	overtake(t, conn, func() {})
	storetest.UpdateStandings(t, s)
	same(t, conn)
	conn.Do(t, `update standings_cursors set cursor_xid = '0', cursor_id = 0`)
	passes := 0
	for more := true; more; passes++ {
		var err error
		if _, more, err = s.Standings.Update(t.Context()); err != nil {
			t.Fatal(err)
		}
		same(t, conn)
	}
	if passes < 3 {
		t.Errorf("%d passes, want one for each change", passes)
	}
}

// A pass that another one has overtaken changes nothing.
func TestOvertakenPassChangesNothing(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	other := storetest.Open(t, conn.URL)
	storetest.UpdateStandings(t, s)
	s.Standings.SetSizes(100, 1)
	for n := range 30 {
		record(t, s, increment("alice", 1, fmt.Sprint("a", n), "k"), increment("bob", 1, fmt.Sprint("b", n), "k"))
		done := make(chan error, 1)
		go func() {
			_, _, err := s.Standings.Update(context.WithoutCancel(t.Context()))
			done <- err
		}()
		_, _, err := other.Standings.Update(t.Context())
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	storetest.UpdateStandings(t, s)
	same(t, conn)
}

// history has the states of every user on a board, oldest first.
type history map[scoreboard.UserID][]past

type past struct {
	at    time.Time // when it had been committed
	score scoreboard.Score
	shown bool
}

// read appends the current states where they have changed.
func (h history) read(t *testing.T, conn *backends.Conn) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select user_id, score, not hidden, clock_timestamp() from scores
where board_id = 'global'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var user scoreboard.UserID
		var now past
		if err := rows.Scan(&user, &now.score, &now.shown, &now.at); err != nil {
			t.Fatal(err)
		}
		all := h[user]
		if n := len(all); n == 0 || all[n-1].score != now.score || all[n-1].shown != now.shown {
			h[user] = append(all, now)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// check compares a page with what was the state of each user at its as_of or later. No user
// users that are hidden now are shown.
func (h history) check(t *testing.T, page *scoreboard.Top) {
	t.Helper()
	shown := make(map[scoreboard.UserID]scoreboard.Score)
	for _, e := range page.Entries {
		shown[e.User] = e.Score
	}
	for user, all := range h {
		score, isShown := shown[user]
		now := all[len(all)-1]
		if isShown && !now.shown {
			t.Errorf("%s is hidden and shown", user)
			continue
		}
		first := 0 // the state as of the page, -1 before the first one
		for first = len(all) - 1; first >= 0 && !all[first].at.Before(page.AsOf); first-- {
		}
		if !isShown && (first < 0 || !now.shown) {
			continue
		}
		if !slices.ContainsFunc(all[max(first, 0):], func(p past) bool {
			return p.shown == isShown && (!isShown || p.score == score)
		}) {
			t.Errorf("%s is shown: %t, with %d, as of %s: want one of %+v", user, isShown, score, page.AsOf, all)
		}
	}
}

// addSubscores gives the default board subscores, and lets it take deltas of 0.
func addSubscores(t *testing.T, conn *backends.Conn) {
	t.Helper()
	conn.Do(t, `update boards set subscore = 'highest', min_subscore = -100, max_subscore = 100, min_delta = 0
where board_id = 'global'`)
}

// Increments, adjustments, reversals, voids, bans, unbans and erasures happen while passes
// are interrupted at any time, two run at once, and standings are filled again. No read
// meanwhile shows a hidden user or lacks what was committed before its as_of, and
// afterwards standings equal scores.
func TestStandingsFollowScores(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	s, conn := storetest.New(t, func(o *store.Options) { o.Shards = 3 })
	s.Standings.SetSizes(12, 3)
	other := storetest.Open(t, conn.URL)
	other.Standings.SetSizes(9, 2)
	why := func() *scoreboard.AuditEntry {
		return &scoreboard.AuditEntry{Actor: "root", Action: "test", Target: "user:x", Reason: "test"}
	}
	must := func(err error) {
		t.Helper()
		if err != nil && wire.CodeOf(err) == "" {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	addSubscores(t, conn)
	began := databaseTime(t, conn)
	past := make(history)
	interrupted, reads := 0, 0
	for n := range 400 {
		user, event := scoreboard.UserID(fmt.Sprint("u", rng.IntN(8))), fmt.Sprint("e", n)
		id := increment(user, 1, event, "").Event
		switch rng.IntN(40) {
		default:
			recorder := s
			if n > 200 {
				recorder = other // with another number of shards
			}
			in := increment(user, int64(rng.IntN(5)), event, fmt.Sprint("k", rng.IntN(20)))
			in.Subscore = new(scoreboard.Score(rng.IntN(5) - 2))
			record(t, recorder, in)
		case 0, 1, 2:
			_, err := s.Moderation.Ban(t.Context(), user, why())
			must(err)
		case 3, 4, 5:
			_, err := s.Moderation.Unban(t.Context(), user, why())
			must(err)
		case 6, 7:
			_, err := s.Corrections.Adjust(t.Context(), scoreboard.Adjustment{
				User: user, Board: "global", Delta: int64(rng.IntN(9) - 4), Event: id,
			}, why())
			must(err)
		case 8, 9:
			old := increment(user, 1, fmt.Sprint("e", rng.IntN(n+1)), "").Event
			_, _, err := s.Corrections.Reverse(t.Context(), user, old, scoreboard.Reversing{}, why())
			must(err)
		case 10:
			sender := scoreboard.Sender{KeyID: fmt.Sprint("k", rng.IntN(20)), From: began, To: databaseTime(t, conn)}
			_, err := s.Corrections.CreateVoid(t.Context(), sender, why())
			must(err)
		case 11, 12, 13:
			void, err := s.Corrections.ClaimVoid(t.Context(), time.Minute)
			must(err)
			if void != nil {
				_, err := s.Corrections.StepVoid(t.Context(), void, time.Minute)
				must(s.Corrections.ReleaseVoid(t.Context(), void, err))
			}
		case 14:
			if rng.IntN(4) > 0 {
				break
			}
			anonymous, err := s.Privacy.BeginErasure(t.Context(), user, why())
			must(err)
			for rows := int64(1); err == nil && rows > 0; {
				rows, err = s.Privacy.EraseStep(t.Context(), user, anonymous)
				must(err)
			}
		case 15:
			if rng.IntN(4) == 0 {
				conn.Do(t, `update standings_state set cluster = null`)
			}
		case 16, 17, 18, 19, 20, 21:
			cut, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(4000))*time.Microsecond)
			if _, _, err := other.Standings.Update(cut); err != nil {
				interrupted++
			}
			cancel()
		case 22, 23, 24:
			done := make(chan error, 1)
			go func() {
				_, _, err := other.Standings.Update(context.WithoutCancel(t.Context()))
				done <- err
			}()
			_, _, err := s.Standings.Update(t.Context())
			must(err)
			must(<-done)
		case 25, 26, 27, 28:
			_, _, err := s.Standings.Update(t.Context())
			must(err)
		}
		past.read(t, conn)
		page, err := s.Reads.Page(t.Context(), global, nil, 100)
		if must(err); err == nil { // they may be being filled
			past.check(t, page)
			reads++
		}
	}
	storetest.UpdateStandings(t, s)
	same(t, conn)
	if n := conn.Count(t, `select count(*) from standings`); n < 8 || interrupted < 5 || reads < 100 {
		t.Errorf("%d standings, %d interrupted passes, %d reads", n, interrupted, reads)
	}
	// Of an erased user no name is left.
	if _, err := s.Privacy.BeginErasure(t.Context(), "u0", why()); wire.CodeOf(err) == "" {
		must(err)
	}
	conn.Do(t, `delete from scores where user_id = 'u0'`)
	if n := conn.Count(t, `select count(*) from standings where user_id = 'u0'`); n != 0 {
		t.Error("a standing is left of a score that was deleted")
	}
	if t.Failed() {
		t.Logf("seed %d", seed)
	}
}

// While standings are behind, users find what they have just recorded, in the rank that it
// has among the others' standings.
func TestOwnScoreIsNotBehind(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for i := range int64(5) {
		record(t, s, increment(scoreboard.UserID(fmt.Sprint("u", i)), 10*(i+1), "one", "k"))
	}
	storetest.UpdateStandings(t, s)
	var asOf time.Time
	if err := conn.QueryRow(t.Context(), `select as_of from standings_state`).Scan(&asOf); err != nil {
		t.Fatal(err)
	}
	record(t, s, increment("u1", 100, "two", "k"), increment("new", 35, "two", "k"), increment("u4", 100, "two", "k"))
	ban := &scoreboard.AuditEntry{Actor: "root", Action: "test", Target: "user:u3", Reason: "test"}
	if _, err := s.Moderation.Ban(t.Context(), "u3", ban); err != nil {
		t.Fatal(err)
	}
	// Standings: u4 50, u3 40, u2 30, u1 20, u0 10. Scores: u4 150, u1 120, new 35, u2 30, u0 10.
	for user, want := range map[scoreboard.UserID]scoreboard.Place{
		"u1":  {Rank: 1, Score: 120, Total: 5, UserVersion: 2},
		"u4":  {Rank: 1, Score: 150, Total: 5, UserVersion: 2},
		"u0":  {Rank: 5, Score: 10, Total: 5, UserVersion: 1},
		"new": {Rank: 3, Score: 35, Total: 6, UserVersion: 1},
	} {
		p, err := s.Reads.Place(t.Context(), global, user, 1)
		if err != nil || p.Rank != want.Rank || p.Score != want.Score || p.Total != want.Total ||
			p.UserVersion != want.UserVersion || p.AsOf.After(asOf) {
			t.Errorf("%s: got %+v, %v, want %+v as of %s", user, p, err, want, asOf)
			continue
		}
		if i := slices.IndexFunc(p.Neighbours, func(e scoreboard.Entry) bool { return e.User == user }); i < 0 ||
			p.Neighbours[i].Rank != p.Rank || p.Neighbours[i].Score != p.Score {
			t.Errorf("%s: neighbours %+v", user, p.Neighbours)
		}
	}
	if _, err := s.Reads.Place(t.Context(), global, "u3", 1); wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("a banned user: got %v, want a not_found", err)
	}
	l, err := s.Reads.List(t.Context(), global, []scoreboard.UserID{"new", "u1", "u3", "u4", "u0", "nobody"})
	if err != nil || fmt.Sprint(l.Entries, l.Missing, l.Total) !=
		"[{1 u4 150 0 <nil> false} {2 u1 120 0 <nil> false} {3 new 35 0 <nil> false} {5 u0 10 0 <nil> false}] "+
			"[u3 nobody] 5" {
		t.Errorf("got %+v, %v", l, err)
	}
	page, err := s.Reads.Page(t.Context(), global, nil, 10)
	if err != nil || fmt.Sprint(page.Entries) !=
		"[{1 u4 50 0 <nil> false} {2 u2 30 0 <nil> false} {3 u1 20 0 <nil> false} {4 u0 10 0 <nil> false}]" {
		t.Errorf("got %+v, %v", page, err)
	}
}

// Standings of a new database are complete without a row, and stay so with its first score.
func TestFirstScoreFindsStandings(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	storetest.UpdateStandings(t, s)
	record(t, s, increment("alice", 5, "one", "k"))
	// A transaction of another database on the same server can hold the change back.
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		n, more, err := s.Standings.Update(t.Context())
		if n == 0 && err == nil && time.Now().Before(end) {
			continue
		}
		if n != 1 || more || err != nil {
			t.Errorf("the pass after the first score read %d changes, %t, %v; want 1 and nothing more", n, more, err)
		}
		break
	}
	page, err := s.Reads.Page(t.Context(), global, nil, 10)
	if err != nil || len(page.Entries) != 1 {
		t.Errorf("got %+v, %v, want alice", page, err)
	}
}

// Standings that were emptied, or belong to another cluster, are not taken for complete
// and are filled again. Until then no rank is made up.
func TestStandingsAreFilledAgain(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"emptied":         `truncate standings`,
		"another cluster": `update standings_state set cluster = '1'`,
		"cursor ahead": `update standings_cursors
set cursor_xid = (pg_current_xact_id()::text::bigint + 1000000)::text::xid8`,
		"not updated for hours": `update standings_state set passed_at = now() - interval '3 hours';
update outbox_score_updates set recorded_at = recorded_at - interval '1 day';
update relay_shards set cursor_xid = pg_current_xact_id();
select drop_outbox_partition('outbox_score_updates_default')`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, conn := storetest.New(t)
			s.Standings.SetSizes(100, 2)
			storetest.UpdateStandings(t, s)
			for i := range 5 {
				record(t, s, increment(scoreboard.UserID(fmt.Sprint("u", i)), 5, "one", "k"))
			}
			if name != "not updated for hours" {
				storetest.UpdateStandings(t, s)
			} else {
				conn.Do(t, `insert into relay_shards (shard) values (0)`)
			}
			conn.Do(t, sql)
			if _, more, err := s.Standings.Update(t.Context()); err != nil || !more {
				t.Fatal(more, err)
			}
			_, err := s.Reads.Page(t.Context(), global, nil, 10)
			if wire.CodeOf(err) != wire.CodeUnavailable {
				t.Errorf("while they are filled: got %v, want an unavailable", err)
			}
			_, err = s.Reads.Place(t.Context(), global, "nobody", 1)
			if wire.CodeOf(err) != wire.CodeNotFound {
				t.Errorf("a user without a score, while they are filled: got %v, want a not_found", err)
			}
			storetest.UpdateStandings(t, s)
			same(t, conn)
			page, err := s.Reads.Page(t.Context(), global, nil, 10)
			if err != nil || len(page.Entries) != 5 {
				t.Errorf("got %+v, %v", page, err)
			}
		})
	}
}

// A partition of the outbox is kept until standings have its changes.
func TestPartitionsWaitForStandings(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	storetest.UpdateStandings(t, s)
	record(t, s, increment("alice", 5, "one", "k"))
	conn.Do(t, `insert into relay_shards (shard, cursor_xid) values (0, pg_current_xact_id())`)
	var leaf string
	err := conn.QueryRow(t.Context(), `select tableoid::regclass::text from outbox_score_updates`).Scan(&leaf)
	if err != nil {
		t.Fatal(err)
	}
	drop := func() int64 {
		t.Helper()
		return conn.Count(t, `select drop_outbox_partition($1)::int`, leaf)
	}
	if n := drop(); n != 0 {
		t.Errorf("%d partitions dropped before standings had their changes", n)
	}
	storetest.UpdateStandings(t, s)
	same(t, conn)
	if n := drop(); n != 1 {
		t.Errorf("%d partitions dropped, want 1", n)
	}
}

// No increment changes a column of scores that is indexed.
func TestScoresUpdatesAreHOT(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 1 })
	const users, size, rounds = 1000, 50, 120
	for n := range rounds {
		batch := make([]scoreboard.Increment, size)
		for i := range batch {
			u := i*users/size + rand.IntN(users/size) // all different
			if n < users/size {
				u = n*size + i // each user once
			}
			batch[i] = increment(scoreboard.UserID(fmt.Sprint("u", u)), 1, fmt.Sprint(n), "k")
		}
		record(t, s, batch...)
	}
	const want = rounds*size - users
	s.Close()
	var updates, hot int64
	for deadline := time.Now().Add(10 * time.Second); updates < want; time.Sleep(20 * time.Millisecond) {
		if err := conn.QueryRow(t.Context(), `select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables
where relname = 'scores'`).Scan(&updates, &hot); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d updates within 10 s, want %d", updates, want)
		}
	}
	if hot < updates*80/100 {
		t.Errorf("%d of %d updates of scores are HOT, want 80 %%", hot, updates)
	}
}

// A pass reads the changes since the last one, however many are in the outbox.
func TestPassesReadOnlyNewChanges(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 1 })
	const users, rounds = 100, 60
	for n := range rounds {
		batch := make([]scoreboard.Increment, users)
		for i := range batch {
			batch[i] = increment(scoreboard.UserID(fmt.Sprint("u", i)), 1, fmt.Sprint(n), "k")
		}
		record(t, s, batch...)
		storetest.UpdateStandings(t, s)
		if n == 2 {
			conn.Do(t, `analyze`)
		}
	}
	same(t, conn)
	s.Close()
	got := storetest.TableReads(t, conn)["outbox_score_updates"]
	if limit := int64(2 * users * rounds); got.Scanned > 0 || got.Indexed > limit {
		t.Errorf("%d changes read by scans and %d by the index, want none and at most %d", got.Scanned,
			got.Indexed, limit)
	}
}
