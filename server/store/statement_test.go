package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

func TestStatementPagesContainEveryEventOnce(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	createBoard(t, conn, "speed", "increment", "highest", 1, 100)
	var want []string
	for i := range 7 {
		in := increment("alice", int64(i+1), fmt.Sprintf("e%d", i), "global", "speed")
		if i%2 == 0 {
			in.Boards = in.Boards[:1]
		}
		in.Action, in.Address, in.Agent = "kill", "192.0.2.1", "game/1"
		record(t, s, in, increment("bob", 1, fmt.Sprintf("e%d", i)))
		want = append(want, fmt.Sprintf("e%d global", i))
		if len(in.Boards) == 2 {
			want = append(want, fmt.Sprintf("e%d speed", i))
		}
	}
	slices.Reverse(want)
	var got []string
	var last scoreboard.LedgerRow
	q := scoreboard.StatementQuery{User: "alice", Limit: 3}
	for pages := 1; ; pages++ {
		page, err := s.Reads.Statement(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Rows {
			got = append(got, r.Event.Text+" "+string(r.Board))
		}
		last = page.Rows[len(page.Rows)-1]
		if q.After = last.Position(); !page.More {
			if pages != 4 || !page.ArchivedBefore.IsZero() {
				t.Errorf("got %d pages, archived before %v; want 4 and no archived rows", pages, page.ArchivedBefore)
			}
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if last.Kind != scoreboard.KindEvent || last.Delta != 1 || last.Score != 1 || last.Previous == nil ||
		*last.Previous != 0 || last.Version != 1 || last.Action != "kill" || last.KeyID != "k" ||
		last.Address != "192.0.2.1" || last.Agent != "game/1" {
		t.Errorf("first event: got %+v", last)
	}

	speed, err := s.Reads.Statement(t.Context(), scoreboard.StatementQuery{User: "alice", Board: "speed", Limit: 10})
	if err != nil || len(speed.Rows) != 3 {
		t.Fatalf("one board: got %+v, %v, want three rows", speed, err)
	}
	at := speed.Rows[1].RecordedAt
	q = scoreboard.StatementQuery{User: "alice", Board: "speed", From: at, Limit: 10}
	from, err := s.Reads.Statement(t.Context(), q)
	if err != nil || len(from.Rows) != 2 {
		t.Errorf("from the second event: got %+v, %v, want 2 rows", from, err)
	}
	q = scoreboard.StatementQuery{User: "alice", Board: "speed", To: at, Limit: 10}
	to, err := s.Reads.Statement(t.Context(), q)
	if err != nil || len(to.Rows) != 1 {
		t.Errorf("before the second event: got %+v, %v, want 1 row", to, err)
	}
	if _, err := s.Reads.Statement(
		t.Context(),
		scoreboard.StatementQuery{User: "nobody", Limit: 10},
	); wire.CodeOf(
		err,
	) != wire.CodeNotFound {
		t.Errorf("unknown user: got %v, want not_found", err)
	}
}

// Rows that were moved to the archive are reported.
func TestStatementReportsArchivedRows(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	record(t, s, increment("alice", 1, "old"), increment("bob", 1, "b1"))
	conn.Do(t, `delete from user_score_histories where user_id = 'alice'`)
	only, err := s.Reads.Statement(t.Context(), scoreboard.StatementQuery{User: "alice", Limit: 10})
	if err != nil || len(only.Rows) != 0 || only.ArchivedBefore.IsZero() {
		t.Errorf("all rows archived: got %+v, %v, want no rows and ArchivedBefore", only, err)
	}
	record(t, s, increment("alice", 2, "new"))
	both, err := s.Reads.Statement(t.Context(), scoreboard.StatementQuery{User: "alice", Limit: 10})
	if err != nil || len(both.Rows) != 1 || both.ArchivedBefore.IsZero() || both.ArchivedBefore.After(time.Now()) {
		t.Errorf("some rows archived: got %+v, %v, want one row and ArchivedBefore", both, err)
	}
	recent, err := s.Reads.Statement(
		t.Context(),
		scoreboard.StatementQuery{User: "alice", From: time.Now().Add(-time.Hour), Limit: 10},
	)
	if err != nil || len(recent.Rows) != 1 || !recent.ArchivedBefore.IsZero() {
		t.Errorf("the last hour: got %+v, %v, want no archived rows", recent, err)
	}
	if bob, err := s.Reads.Statement(
		t.Context(),
		scoreboard.StatementQuery{User: "bob", Limit: 10},
	); err != nil ||
		!bob.ArchivedBefore.IsZero() {
		t.Errorf("bob: got %+v, %v, want no archived rows", bob, err)
	}
}

// A page does not read the user's whole history.
func TestStatementReadsAreBounded(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 1 })
	conn.Do(
		t,
		`insert into user_score_histories (user_id, board_id, event_id, payload_hash, delta, applied, new_score,
version, recorded_at, source)
select 'u' || n % 10, 'global', gen_random_uuid(), '\x00', 1, 1, n, n, now() - n * interval '1 second', 'api'
    from generate_series(1, 20000) as n`,
	)
	conn.Do(t, `analyze user_score_histories`)
	q := scoreboard.StatementQuery{User: "u7", Limit: 10}
	for range 10 { // PostgreSQL may switch to a generic plan after five
		page, err := s.Reads.Statement(t.Context(), q)
		if err != nil || len(page.Rows) != 10 {
			t.Fatalf("got %+v, %v, want ten rows", page, err)
		}
		q.After = page.Rows[9].Position()
	}
	s.Close()
	got := storetest.TableReads(t, conn)["user_score_histories"]
	if got.Scanned > 0 || got.Indexed == 0 || got.Indexed > 1000 {
		t.Errorf(
			"ten pages of ten read %d rows by scans and %d by indexes, want none and at most a thousand",
			got.Scanned,
			got.Indexed,
		)
	}
}
