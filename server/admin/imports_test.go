package admin

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Imports at once share the rate of a node, and records that would wait for too long are
// rejected with the time after which to repeat.
func TestImportRateIsKept(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	conn.Do(t, `insert into boards (board_id, family_id, mode, sort_order, min_delta, max_delta, public)
values ('a', 'a', 'increment', 'highest', 1, 100, true), ('b', 'b', 'increment', 'highest', 1, 100, true)`)
	const perSecond, chunk, chunks = 500, 100, 8
	imports := NewImports(s.Imports, perSecond)
	by := scoreboard.AuditEntry{Actor: "root", Action: "import.start", Target: "board:a"}
	records := func(board string, n int) []scoreboard.ImportRecord {
		all := make([]scoreboard.ImportRecord, chunk)
		for i := range all {
			all[i] = scoreboard.ImportRecord{User: scoreboard.UserID(fmt.Sprint(board, n*chunk+i)), Score: 1}
		}
		return all
	}
	began := time.Now()
	var writing sync.WaitGroup
	for _, board := range []string{"a", "b"} {
		i, err := imports.StartImport(t.Context(), "csv", scoreboard.BoardID(board), &by)
		if err != nil {
			t.Fatal(err)
		}
		writing.Go(func() {
			for n := range chunks {
				for {
					out, err := imports.WriteImport(t.Context(), i.ID, records(board, n), &by)
					if wire.CodeOf(err) == wire.CodeRateLimited {
						continue
					}
					if err != nil || out.Written != chunk {
						t.Errorf("got %+v, %v", out, err)
					}
					break
				}
			}
		})
	}
	writing.Wait()
	// All but the burst at the beginning have waited.
	const shortest = time.Second * (2*chunk*chunks - scoreboard.MaxImportRecords) / perSecond
	if took := time.Since(began); took < shortest {
		t.Errorf("%d records took %v at %d a second, want at least %v", 2*chunk*chunks, took, perSecond, shortest)
	}

	slow := NewImports(s.Imports, 10)
	i, err := slow.StartImport(t.Context(), "other", "a", &by)
	if err != nil {
		t.Fatal(err)
	}
	for n := range scoreboard.MaxImportRecords / chunk { // the burst
		if _, err := slow.WriteImport(t.Context(), i.ID, records("a", n), &by); err != nil {
			t.Fatal(err)
		}
	}
	began = time.Now()
	_, err = slow.WriteImport(t.Context(), i.ID, records("a", chunks), &by)
	var late *scoreboard.Error
	if !errors.As(err, &late) || late.Code != wire.CodeRateLimited || late.RetryAfter != time.Second ||
		time.Since(began) > maxImportWait+time.Second {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
}

// Of the records that wait to be written, those of callers take turns: who sends many at once does not
// keep another's waiting behind all of them.
func TestImportsTakeTurns(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	conn.Do(t, `insert into boards (board_id, family_id, mode, sort_order, min_delta, max_delta, public)
values ('a', 'a', 'increment', 'highest', 1, 100, true)`)
	imports := NewImports(s.Imports, 1_000_000)
	by := scoreboard.AuditEntry{Actor: "root", Action: "import.start", Target: "board:a"}
	run, err := imports.StartImport(t.Context(), "csv", "a", &by)
	if err != nil {
		t.Fatal(err)
	}
	release, ok := imports.turn.Try(share.WithCaller(t.Context(), "eve"), share.Claim{})
	if !ok {
		t.Fatal("no turn")
	}
	var all sync.WaitGroup
	for i, caller := range []string{"eve", "eve", "eve", "ada"} {
		records := []scoreboard.ImportRecord{{User: scoreboard.UserID(fmt.Sprint(caller, i)), Score: 1}}
		all.Go(func() {
			ctx := share.WithCaller(t.Context(), caller)
			if _, err := imports.WriteImport(ctx, run.ID, records, &by); err != nil {
				t.Errorf("%s: %v", caller, err)
			}
		})
		for imports.turn.Waiting() <= i {
			time.Sleep(time.Millisecond)
		}
	}
	release()
	all.Wait()
	var first string
	if err := conn.QueryRow(t.Context(), `select user_id from user_score_histories order by recorded_at limit 1`).
		Scan(&first); err != nil || first != "ada3" {
		t.Errorf("%s was written first, %v; want ada3", first, err)
	}
}
