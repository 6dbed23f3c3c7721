package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// When a freeze returns, no write is running and none follows; writers of other
// boards are not delayed noticeably.
func TestNoWriteAfterFreezeReturns(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("daily", every(scoreboard.PeriodDaily)))
	create(t, s, boardOf("arena"))
	var instance scoreboard.BoardID
	if err := conn.QueryRow(t.Context(), `select min(board_id) from boards where family_id = 'daily'
and board_id <> family_id`).
		Scan(&instance); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ freeze, write, counted scoreboard.BoardID }{
		{"arena", "arena", "arena"}, {"daily", "daily", instance}, {instance, "daily", instance},
	} {
		var stop, written, rejected atomic.Bool
		var all sync.WaitGroup
		for w := range 4 {
			all.Go(func() {
				for n := 0; !stop.Load(); n++ {
					var batch []scoreboard.Increment
					for i := range 20 {
						user := scoreboard.UserID(fmt.Sprintf("%s-%d-%d", c.freeze[:1], w, i))
						batch = append(batch, increment(user, 1, fmt.Sprint(c.freeze, n), "global", c.write))
					}
					outcomes, err := s.Increments.Record(t.Context(), batch)
					if err != nil {
						t.Error(err)
						return
					}
					for _, o := range outcomes {
						switch {
						case o.Err == nil:
							written.Store(true)
						case wire.CodeOf(o.Err) == wire.CodeBoardClosed:
							rejected.Store(true)
						default:
							t.Error(o.Err)
						}
					}
				}
			})
		}
		until(t, "a write", written.Load)
		frozen, err := s.Boards.FreezeBoard(t.Context(), c.freeze, nil)
		if err != nil || frozen.Status != scoreboard.StatusFrozen {
			t.Errorf("freeze %s: %+v, %v", c.freeze, frozen, err)
		}
		rows := conn.Count(t, `select count(*) from user_score_histories where board_id = $1`, c.counted)
		until(t, "a rejection", rejected.Load)
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
		if _, err := s.Boards.UnfreezeBoard(t.Context(), c.freeze, nil); err != nil {
			t.Error(err)
		}
		if o := record(t, s, increment("after", 1, string(c.freeze), c.write))[0]; o.Err != nil {
			t.Errorf("after the unfreeze of %s: %v", c.freeze, o.Err)
		}
	}
	if n := conn.Count(t, `select count(*) from user_score_histories g where board_id = 'global'
and not exists (select from user_score_histories o where o.user_id = g.user_id and o.event_id = g.event_id
    and o.board_id <> 'global')`); n != 0 {
		t.Errorf("%d events were written to one board only", n)
	}
}

func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out: %s", what)
		}
	}
}

func TestBoardStatusTransitions(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("daily", every(scoreboard.PeriodDaily)))
	create(t, s, boardOf("arena"))
	var today scoreboard.BoardID
	if err := conn.QueryRow(t.Context(), `select min(board_id) from boards where family_id = 'daily'
and board_id <> family_id`).
		Scan(&today); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what  string
		do    func(context.Context, scoreboard.BoardID, *scoreboard.AuditEntry) (*scoreboard.Board, error)
		board scoreboard.BoardID
		is    scoreboard.Status
		fails wire.Code
	}{
		{"unfreeze an active board", s.Boards.UnfreezeBoard, "arena", "active", ""},
		{"freeze", s.Boards.FreezeBoard, "arena", "frozen", ""},
		{"freeze again", s.Boards.FreezeBoard, "arena", "frozen", ""},
		{"archive", s.Boards.ArchiveBoard, "arena", "archived", ""},
		{"archive again", s.Boards.ArchiveBoard, "arena", "archived", ""},
		{"freeze an archived board", s.Boards.FreezeBoard, "arena", "", "conflict"},
		{"unfreeze an archived board", s.Boards.UnfreezeBoard, "arena", "", "conflict"},
		{"freeze an unknown board", s.Boards.FreezeBoard, "nobody", "", "not_found"},
		{"archive a family", s.Boards.ArchiveBoard, "daily", "archived", ""},
		{"unfreeze its instance", s.Boards.UnfreezeBoard, today, "", "conflict"},
	} {
		b, err := step.do(t.Context(), step.board, nil)
		if wire.CodeOf(err) != step.fails || err == nil && b.Status != step.is {
			t.Errorf("%s: got %+v, %v", step.what, b, err)
		}
	}
	if n := conn.Count(
		t,
		`select count(*) from boards where family_id = 'daily' and status = 'archived'
and (closed_at is null) = (period_start is null or period_start < clock_timestamp())`,
	); n != 4 {
		t.Errorf("%d boards of the family are archived, want 4", n)
	}
}
