package history_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A read of the past costs what happened around it, not all private periods of the installation.
func TestReadsOfPastReadFewPeriods(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for i := range 6 {
		submit(t, s, scoreboard.UserID(fmt.Sprintf("user-%d", i)), int64(10-i), "global")
	}
	// All were on the board for long, and some left it then.
	conn.Do(t, `insert into users (user_id, private) select 'gone-' || n, true from generate_series(1, 20000) as n`)
	conn.Do(t, `insert into private_users (user_id, since)
select 'gone-' || n, now() - interval '1 year' from generate_series(1, 20000) as n`)
	conn.Do(t, `insert into users (user_id) select 'moody-' || n from generate_series(1, 1000) as n`)
	conn.Do(t, `insert into private_users (user_id, since, until)
select 'moody-' || n, at, at + interval '1 minute'
from generate_series(1, 1000) as n,
    generate_series(now() - interval '61 days', now() - interval '2 days', '1 day') as at`)
	conn.Do(t, `insert into scores (user_id, board_id, score, order_key, version, revision, hidden, reached_at,
    recorded_at)
select user_id, 'global', 1, -1, 1, 1, private, now() - interval '1 year', now() - interval '1 year'
from users where user_id not like 'user-%'`)
	conn.Do(t, `analyze`)
	checkpoint(t, s)
	fresh := global // without a checkpoint, and so without a time before which all periods are over
	fresh.ID, fresh.Family = "fresh", "fresh"
	conn.Do(t, `insert into boards select (jsonb_populate_record(b, jsonb_build_object('board_id', 'fresh',
    'family_id', 'fresh'))).* from boards as b where board_id = 'global'`)
	for _, user := range []scoreboard.UserID{"user-0", "user-1", "user-2"} {
		submit(t, s, user, 5, fresh.ID)
	}
	hide := func(user scoreboard.UserID, to scoreboard.Visibility) {
		t.Helper()
		if _, _, err := s.Visibility.Put(t.Context(), user, to, because("user.privacy")); err != nil {
			t.Fatal(err)
		}
	}
	hide("user-1", scoreboard.VisibilityPrivate)
	submit(t, s, "user-5", 1, "global")
	first := now(t, s)
	hide("user-1", scoreboard.VisibilityPublic)
	hide("user-2", scoreboard.VisibilityPrivate)
	submit(t, s, "gone-7", 100, "global")
	second := now(t, s)
	s.Close()
	before := storetest.TableReads(t, conn)["private_users"]
	// As PostgreSQL may plan a statement that it has seen some times, for all values.
	conn.Do(t, `do $$ begin
    execute format('alter database %I set plan_cache_mode = force_generic_plan', current_database());
end $$`)

	s = storetest.Open(t, conn.URL)
	check := func(at scoreboard.PastTime, total int64, best ...scoreboard.UserID) {
		t.Helper()
		top, err := s.PastBoards.Top(t.Context(), &global, at, nil, len(best))
		if err != nil {
			t.Fatal(err)
		}
		var got []scoreboard.UserID
		for i := range top.Entries {
			got = append(got, top.Entries[i].User)
		}
		if !slices.Equal(got, best) || top.Total != total {
			t.Errorf("got %v of %d, want %v of %d", got, top.Total, best, total)
		}
	}
	for range 10 {
		check(scoreboard.PastTime{At: first}, 1005, "user-0", "user-2", "user-3")
		check(scoreboard.PastTime{At: second}, 1005, "user-0", "user-1", "user-3")
		check(scoreboard.PastTime{At: first, Now: true}, 1005, "user-0", "user-1", "user-3")
		check(scoreboard.PastTime{At: first, Masked: true}, 1004, "user-0", "user-3", "user-4")
		for _, now := range []bool{false, true} {
			times := []time.Time{first, second}
			frames, n, err := s.PastBoards.Timeline(t.Context(), &global, scoreboard.PastTime{Now: now}, times, 3)
			if err != nil || n != 2 || frames[0].Total != 1005 {
				t.Errorf("got %d of 2 frames, %v, %+v", n, err, frames)
			}
			points, err := s.PastBoards.History(t.Context(), &global, scoreboard.PastTime{Now: now}, "user-3", times)
			if err != nil || points[0].Rank != 3 || points[1].Rank != 3 {
				t.Errorf("got %+v, %v, want rank 3", points, err)
			}
			points, err = s.PastBoards.History(t.Context(), &fresh, scoreboard.PastTime{Now: now}, "user-0", times)
			if err != nil || points[0].Rank != 1 || points[1].Rank != 1 {
				t.Errorf("on a board without a checkpoint: got %+v, %v, want rank 1", points, err)
			}
		}
	}
	s.Close()
	after := storetest.TableReads(t, conn)["private_users"]
	// 100 reads of at most a few periods each.
	if scanned, indexed := after.Scanned-before.Scanned, after.Indexed-before.Indexed; scanned+indexed > 5000 {
		t.Errorf("100 reads of the past read %d private periods by scans and %d by indexes, want a few each",
			scanned, indexed)
	}
}

// A checkpoint that was made in a public phase, which counts as private since, shows the user in no
// read of a moment in it.
func TestMergedPeriodHidesUserOfCheckpoint(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	for i := range 3 {
		submit(t, s, scoreboard.UserID(fmt.Sprintf("user-%d", i)), int64(3-i), "global")
	}
	hide := func(to scoreboard.Visibility) {
		t.Helper()
		if _, _, err := s.Visibility.Put(t.Context(), "user-0", to, because("user.privacy")); err != nil {
			t.Fatal(err)
		}
	}
	hide(scoreboard.VisibilityPrivate)
	hide(scoreboard.VisibilityPublic)
	checkpoint(t, s)
	at := now(t, s)
	want := []string{"user-0 3", "user-1 2", "user-2 1"}
	for _, public := range []bool{true, false} {
		if !public {
			hide(scoreboard.VisibilityPrivate)
			now(t, s)
			want = want[1:]
		}
		for _, m := range []scoreboard.PastTime{{At: at}, {At: at, Now: true}, {At: at, Masked: true}} {
			if got, err := topLines(t, s, m); err != nil || !slices.Equal(got, want) {
				t.Errorf("public %t, %+v: got %v, %v, want %v", public, m, got, err, want)
			}
		}
		frames, _, err := s.PastBoards.Timeline(t.Context(), &global, scoreboard.PastTime{}, []time.Time{at}, 3)
		if err != nil || len(frames) != 1 || len(frames[0].Entries) != len(want) {
			t.Errorf("public %t: got %+v, %v, want %v", public, frames, err, want)
		}
	}
}
