package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/storetest"
)

// When a freeze returns, nobody's write is still under way, and none comes
// after it; and the writers of other boards hardly notice.
func TestNoWriteAfterFreezeReturns(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("daily", every(scoreboard.PeriodDaily)))
	create(t, s, boardOf("arena"))
	var instance scoreboard.BoardID
	if err := conn.QueryRow(t.Context(), `select min(board_id) from boards where family_id = 'daily' and board_id <> family_id`).
		Scan(&instance); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ freeze, write, counted scoreboard.BoardID }{
		{"arena", "arena", "arena"}, {"daily", "daily", instance}, {instance, "daily", instance},
	} {
		var stop, written, refused atomic.Bool
		var all sync.WaitGroup
		for w := range 4 {
			all.Go(func() {
				for n := 0; !stop.Load(); n++ {
					var batch []scoreboard.Increment
					for i := range 20 {
						user := scoreboard.UserID(fmt.Sprintf("%s-%d-%d", c.freeze[:1], w, i))
						batch = append(batch, increment(user, 1, fmt.Sprint(c.freeze, n), "global", c.write))
					}
					outcomes, err := s.Record(t.Context(), batch)
					if err != nil {
						t.Error(err)
						return
					}
					for _, o := range outcomes {
						switch {
						case o.Err == nil:
							written.Store(true)
						case scoreboard.CodeOf(o.Err) == scoreboard.CodeBoardClosed:
							refused.Store(true)
						default:
							t.Error(o.Err)
						}
					}
				}
			})
		}
		until(t, "a write", written.Load)
		frozen, err := s.FreezeBoard(t.Context(), c.freeze, nil)
		if err != nil || frozen.Status != scoreboard.StatusFrozen {
			t.Errorf("freeze %s: %+v, %v", c.freeze, frozen, err)
		}
		rows := conn.Count(t, `select count(*) from user_score_histories where board_id = $1`, c.counted)
		until(t, "a refusal", refused.Load)
		time.Sleep(100 * time.Millisecond)
		stop.Store(true)
		all.Wait()
		if after := conn.Count(
			t,
			`select count(*) from user_score_histories where board_id = $1`,
			c.counted,
		); after != rows ||
			rows == 0 {
			t.Errorf(
				"%s had %d rows when the freeze of %s returned, and %d afterwards",
				c.counted,
				rows,
				c.freeze,
				after,
			)
		}
		if _, err := s.UnfreezeBoard(t.Context(), c.freeze, nil); err != nil {
			t.Error(err)
		}
		if o := record(t, s, increment("after", 1, string(c.freeze), c.write))[0]; o.Err != nil {
			t.Errorf("after the unfreeze of %s: %v", c.freeze, o.Err)
		}
	}
	if n := conn.Count(t, `select count(*) from user_score_histories g where board_id = 'global'
and not exists (select from user_score_histories o where o.user_id = g.user_id and o.event_id = g.event_id and o.board_id <> 'global')`); n != 0 {
		t.Errorf("%d events were written in half", n)
	}
}

func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there was never %s", what)
		}
	}
}

func TestBoardStatusTransitions(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("daily", every(scoreboard.PeriodDaily)))
	create(t, s, boardOf("arena"))
	var today scoreboard.BoardID
	if err := conn.QueryRow(t.Context(), `select min(board_id) from boards where family_id = 'daily' and board_id <> family_id`).
		Scan(&today); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what  string
		do    func() (*scoreboard.Board, error)
		is    scoreboard.Status
		fails scoreboard.Code
	}{
		{"unfreeze an active one", func() (*scoreboard.Board, error) { return s.UnfreezeBoard(t.Context(), "arena", nil) }, "active", ""},
		{"freeze", func() (*scoreboard.Board, error) { return s.FreezeBoard(t.Context(), "arena", nil) }, "frozen", ""},
		{"freeze again", func() (*scoreboard.Board, error) { return s.FreezeBoard(t.Context(), "arena", nil) }, "frozen", ""},
		{"archive", func() (*scoreboard.Board, error) { return s.ArchiveBoard(t.Context(), "arena", nil) }, "archived", ""},
		{"archive again", func() (*scoreboard.Board, error) { return s.ArchiveBoard(t.Context(), "arena", nil) }, "archived", ""},
		{"freeze an archived one", func() (*scoreboard.Board, error) { return s.FreezeBoard(t.Context(), "arena", nil) }, "", "conflict"},
		{"unfreeze an archived one", func() (*scoreboard.Board, error) { return s.UnfreezeBoard(t.Context(), "arena", nil) }, "", "conflict"},
		{"freeze nobody", func() (*scoreboard.Board, error) { return s.FreezeBoard(t.Context(), "nobody", nil) }, "", "not_found"},
		{"archive a family", func() (*scoreboard.Board, error) { return s.ArchiveBoard(t.Context(), "daily", nil) }, "archived", ""},
		{"unfreeze its instance", func() (*scoreboard.Board, error) { return s.UnfreezeBoard(t.Context(), today, nil) }, "", "conflict"},
	} {
		b, err := step.do()
		if scoreboard.CodeOf(err) != step.fails || err == nil && b.Status != step.is {
			t.Errorf("%s: got %+v, %v", step.what, b, err)
		}
	}
	if n := conn.Count(
		t,
		`select count(*) from boards where family_id = 'daily' and status = 'archived' and (closed_at is null) = (period_start is null or period_start < clock_timestamp())`,
	); n != 4 {
		t.Errorf("%d of the family are archived as they should be, want all 4", n)
	}
}
