package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

func sourceRecords(pairs ...any) (records []scoreboard.ImportRecord) {
	for i := 0; i < len(pairs); i += 2 {
		records = append(records, scoreboard.ImportRecord{
			User: scoreboard.UserID(pairs[i].(string)), Score: scoreboard.Score(pairs[i+1].(int)),
		})
	}
	return records
}

var importer = scoreboard.AuditEntry{Actor: "root", Action: "import.start", Target: "board:b"}

func startImport(t testing.TB, s *store.Store, source string, board scoreboard.BoardID) int64 {
	t.Helper()
	i, err := s.Imports.StartImport(t.Context(), source, board, &importer)
	if err != nil {
		t.Fatal(err)
	}
	return i.ID
}

func writeImport(t testing.TB, s *store.Store, id int64, pairs ...any) scoreboard.ImportOutcome {
	t.Helper()
	out, err := s.Imports.WriteImport(t.Context(), id, sourceRecords(pairs...), &importer)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// exported is a board as "user score" in the order of its ranks.
func exported(t testing.TB, s *store.Store, board scoreboard.BoardID) (all []string) {
	t.Helper()
	err := s.Reads.Export(t.Context(), &scoreboard.Board{ID: board}, func(chunk []scoreboard.FinalStanding) error {
		for _, row := range chunk {
			if row.Rank != int64(len(all)+1) {
				t.Errorf("got rank %d in place %d", row.Rank, len(all)+1)
			}
			all = append(all, fmt.Sprint(row.User, " ", row.Score))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantBoard(t testing.TB, s *store.Store, board scoreboard.BoardID, want ...string) {
	t.Helper()
	if got := exported(t, s, board); !slices.Equal(got, want) {
		t.Errorf("board %s: got %q, want %q", board, got, want)
	}
}

// wantSums checks that every score is the sum of its ledger rows, whose versions have no gap.
func wantSums(t testing.TB, conn *backends.Conn) {
	t.Helper()
	if n := conn.Count(t, `select count(*) from scores s full join (
    select user_id, board_id, sum(applied) as sum, count(*) as rows, max(version) as last from user_score_histories
    group by user_id, board_id) h using (user_id, board_id)
where s.score is distinct from h.sum or h.rows <> h.last or s.version is distinct from h.last`); n > 0 {
		t.Errorf("%d scores differ from the ledger", n)
	}
}

func wantOutcome(t testing.TB, got scoreboard.ImportOutcome, written, unchanged, rejected int) {
	t.Helper()
	if got.Written != written || got.Unchanged != unchanged || len(got.Rejected) != rejected {
		t.Errorf("got %+v, want %d written, %d unchanged, %d rejected", got, written, unchanged, rejected)
	}
}

// An import adds to an increment board what the other system has and it has not written.
func TestImportAddsTheDifference(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("b"))
	id := startImport(t, s, "csv", "b")
	// Ties have the order of the source, which is not that of the names.
	wantOutcome(t, writeImport(t, s, id, "zoe", 7, "ann", 7, "max", 0, "eve", 900_000, "bob", -3), 5, 0, 0)
	wantOutcome(t, writeImport(t, s, id, "ben", 7, "abe", 7), 2, 0, 0)
	wantBoard(t, s, "b", "eve 900000", "zoe 7", "ann 7", "ben 7", "abe 7", "max 0", "bob -3")
	wantOutcome(t, writeImport(t, s, id, "zoe", 7, "ann", 7, "max", 0), 0, 3, 0)
	record(t, s, increment("ann", 10, "live", "b"))
	wantOutcome(t, writeImport(t, s, id, "zoe", 7, "ann", 5, "eve", 900_001), 2, 1, 0)
	wantBoard(t, s, "b", "eve 900001", "ann 15", "zoe 7", "ben 7", "abe 7", "max 0", "bob -3")
	if again := startImport(t, s, "csv", "b"); again != id {
		t.Errorf("got import %d, want %d again", again, id)
	}
	other := startImport(t, s, "other", "b")
	wantOutcome(t, writeImport(t, s, other, "zoe", 1), 1, 0, 0)
	found, err := s.Imports.FindImport(t.Context(), "csv", "b")
	if found.Started.IsZero() || found.Last.IsZero() {
		t.Errorf("got an import from %s to %s", found.Started, found.Last)
	}
	found.Started, found.Last = time.Time{}, time.Time{}
	want := scoreboard.Import{ID: id, Source: "csv", Board: "b", Users: 7, Events: 9}
	if err != nil || found != want {
		t.Errorf("got %+v, %v, want %+v", found, err, want)
	}
	if n := conn.Count(t, `select count(*) from outbox_score_updates where board_id = 'b'`); n != 11 {
		t.Errorf("got %d rows in the outbox, want 11", n)
	}
	wantSums(t, conn)
}

// A player who computes the id of an import's event, and records one with it first, loses
// nothing of the import, nor keeps the import from being counted once.
func TestImportIDTakenByPlayer(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("b"))
	for _, name := range []string{"import|csv|b|1", "import|csv|b|2"} {
		record(t, s, increment("zoe", 1, scoreboard.NamedEventID("zoe", name).Text, "b"))
	}
	id := startImport(t, s, "csv", "b")
	wantOutcome(t, writeImport(t, s, id, "zoe", 100), 1, 0, 0)
	wantOutcome(t, writeImport(t, s, id, "zoe", 110), 1, 0, 0)
	wantOutcome(t, writeImport(t, s, id, "zoe", 110), 0, 1, 0)
	wantBoard(t, s, "b", "zoe 112")
	wantSums(t, conn)
	if n := conn.Count(t, `select count(*) - count(distinct event_id) from user_score_histories`); n != 2 {
		t.Errorf("%d ids of the import were taken, want 2: its ids have changed", n)
	}
}

// On best and latest boards an import submits the scores.
func TestImportSubmitsToBestAndLatest(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("laps", func(b *scoreboard.Board) {
		b.Mode, b.Order, b.MaxDelta = scoreboard.ModeBest, scoreboard.OrderLowest, scoreboard.MaxScore
	}))
	create(t, s, boardOf("now", func(b *scoreboard.Board) { b.Mode = scoreboard.ModeLatest }))
	record(t, s, increment("ann", 50, "live", "laps"))
	record(t, s, increment("ann", 50, "live2", "now"))
	laps, now := startImport(t, s, "csv", "laps"), startImport(t, s, "csv", "now")
	wantOutcome(t, writeImport(t, s, laps, "bob", 70, "ann", 60, "cat", 50), 3, 0, 0)
	wantBoard(t, s, "laps", "ann 50", "cat 50", "bob 70")
	wantOutcome(t, writeImport(t, s, laps, "bob", 40, "ann", 60), 1, 1, 0)
	wantBoard(t, s, "laps", "bob 40", "ann 50", "cat 50")
	wantOutcome(t, writeImport(t, s, now, "ann", 20, "bob", 30), 2, 0, 0)
	record(t, s, increment("ann", 99, "live3", "now"))
	wantOutcome(t, writeImport(t, s, now, "ann", 20, "bob", 10), 1, 1, 0) // the live score of ann is newer
	wantBoard(t, s, "now", "ann 99", "bob 10")
	wantSums(t, conn)

	// A reversal on a best board counts what was imported.
	reverse := scoreboard.AuditEntry{Actor: "root", Action: "event.reverse", Target: "user:ann"}
	live, err := scoreboard.ParseEventID("ann", "live")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Corrections.Reverse(t.Context(), "ann", live, scoreboard.Reversing{}, &reverse); err != nil {
		t.Fatal(err)
	}
	wantBoard(t, s, "laps", "bob 40", "cat 50", "ann 60")
	wantSums(t, conn)
}

// A record that cannot be written does not stop the others; a closed board stops all.
func TestImportRejectsRecords(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("b", func(b *scoreboard.Board) { b.MaxScore = 100 }))
	record(t, s, increment("gone", 5, "e1", "b"))
	why := scoreboard.AuditEntry{Actor: "root", Action: "user.erase", Reason: "asked"}
	id := startImport(t, s, "csv", "b")
	writeImport(t, s, id, "gone", 5)
	if _, err := s.Privacy.BeginErasure(t.Context(), "gone", &why); err != nil {
		t.Fatal(err)
	}
	out := writeImport(t, s, id, "gone", 8, "ann", 101, "bob", 100)
	wantOutcome(t, out, 1, 0, 2)
	if len(out.Rejected) == 2 {
		for i, want := range []wire.Code{wire.CodeGone, wire.CodeScoreOutOfRange} {
			if code := wire.CodeOf(out.Rejected[i].Err); code != want {
				t.Errorf("rejected %s with %s, want %s", out.Rejected[i].User, code, want)
			}
		}
	}
	wantBoard(t, s, "b", "bob 100")
	if n := conn.Count(t, `select count(*) from users where user_id = 'ann'`); n != 0 {
		t.Error("a rejected record created a user")
	}
	if n := conn.Count(t, `select count(*) from import_scores where user_id = 'gone'`); n != 0 {
		t.Error("an erased user is among the imported")
	}
	if _, err := s.Imports.WriteImport(t.Context(), id+1, sourceRecords("ann", 1), &importer); wire.CodeOf(
		err) != wire.CodeNotFound {
		t.Errorf("an unknown import: got %v, want not_found", err)
	}
	if _, err := s.Boards.FreezeBoard(t.Context(), "b", &why); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Imports.WriteImport(t.Context(), id, sourceRecords("ann", 1), &importer); wire.CodeOf(
		err) != wire.CodeBoardClosed {
		t.Errorf("a frozen board: got %v, want board_closed", err)
	}
}

// Two imports of a source at once, beside increments of the same users, count everything
// once.
func TestImportsAtOnceCountOnce(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("b"))
	const users, rounds = 40, 5
	id := startImport(t, s, "csv", "b")
	var wg sync.WaitGroup
	until := func(do func() error) {
		for {
			err := do()
			if err == nil {
				return
			}
			if wire.CodeOf(err) != wire.CodeUnavailable {
				t.Error(err)
				return
			}
		}
	}
	for range 2 {
		wg.Go(func() {
			for round := range rounds {
				var pairs []any
				for u := range users {
					pairs = append(pairs, fmt.Sprint("u", u), 1000*(round+1)+u)
				}
				until(func() error {
					_, err := s.Imports.WriteImport(t.Context(), id, sourceRecords(pairs...), &importer)
					return err
				})
			}
		})
	}
	wg.Go(func() {
		for round := range rounds {
			for u := range users {
				in := increment(scoreboard.UserID(fmt.Sprint("u", u)), 1, fmt.Sprint("live", round), "b")
				until(func() error {
					out, err := s.Increments.Record(t.Context(), []scoreboard.Increment{in})
					if err == nil && out[0].Err != nil {
						return &scoreboard.Error{Code: wire.CodeUnavailable, Err: out[0].Err} // locked
					}
					return err
				})
			}
		}
	})
	wg.Wait()
	wantSums(t, conn)
	// The last round that was written is not always the 5th: the importers may be a round
	// apart. Written again, it is.
	var pairs []any
	for u := range users {
		pairs = append(pairs, fmt.Sprint("u", u), 1000*rounds+u)
	}
	writeImport(t, s, id, pairs...)
	for i, row := range exported(t, s, "b") {
		u := users - 1 - i
		if want := fmt.Sprint("u", u, " ", 1000*rounds+u+rounds); row != want {
			t.Fatalf("got %q, want %q", row, want)
		}
	}
	wantSums(t, conn)
}

// A summary has the digest of the users that the board shows, whatever their order.
func TestImportSummary(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	create(t, s, boardOf("b"))
	record(t, s, increment("other", 7, "e1", "b"))
	id := startImport(t, s, "csv", "b")
	pairs := []any{"ann", 5, "bob", -3, "cid", scoreboard.MaxScore, "dee", 0, "eve", 5}
	writeImport(t, s, id, pairs...)
	digest := func(pairs ...any) (sum uint64) {
		for _, r := range sourceRecords(pairs...) {
			sum += scoreboard.ImportDigest(r.User, r.Pair())
		}
		return sum
	}
	check := func(users int64, sum string, want uint64, top ...scoreboard.UserID) {
		t.Helper()
		board, got, err := s.Imports.SummarizeImport(t.Context(), id)
		if err != nil || board != "b" || got.Users != users || got.Sum != sum || got.Digest != want ||
			got.Others != 1 || !slices.Equal(got.Top, top) {
			t.Errorf("got %s %+v, %v, want %d users, %s, %d, %v", board, got, err, users, sum, want, top)
		}
	}
	check(5, "9007199254740998", digest(pairs...), "cid", "ann", "eve", "dee", "bob")
	record(t, s, increment("ann", 1, "e2", "b")) // a score that the source does not have
	check(5, "9007199254740999", digest("ann", 6, "bob", -3, "cid", scoreboard.MaxScore, "dee", 0, "eve", 5),
		"cid", "ann", "eve", "dee", "bob")
	if _, err := s.Moderation.Ban(t.Context(), "cid", &scoreboard.AuditEntry{
		Actor: "root", Action: "user.ban", Target: "user:cid", Reason: "test",
	}); err != nil {
		t.Fatal(err)
	}
	check(4, "8", digest("ann", 6, "bob", -3, "dee", 0, "eve", 5), "ann", "eve", "dee", "bob")
	if _, _, err := s.Imports.SummarizeImport(t.Context(), id+1); wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("an unknown import: got %v, want not_found", err)
	}
}

// Before an erasure, the events of an import have the same ids in every database. After it,
// nobody who tries users finds the erased one by them.
func TestImportedEventsAfterErasure(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("b"))
	id := startImport(t, s, "csv", "b")
	wantOutcome(t, writeImport(t, s, id, "gone", 5, "kept", 6), 2, 0, 0)
	wantOutcome(t, writeImport(t, s, id, "gone", 7, "kept", 8), 2, 0, 0)
	record(t, s, increment("gone", 1, "11111111-2222-4333-8444-555555555555", "b"))
	named := func() (found []string) {
		for _, user := range []scoreboard.UserID{"ann", "gone", "kept", "zoe"} {
			for n := range int32(4) {
				event := scoreboard.NamedEventID(user, fmt.Sprint("import|csv|b|", n))
				if conn.Count(t, `select count(*) from user_score_histories where event_id = $1`, event.UUID) > 0 {
					found = append(found, fmt.Sprint(user, n))
				}
			}
		}
		return found
	}
	if found := named(); !slices.Equal(found, []string{"gone1", "gone2", "kept1", "kept2"}) {
		t.Errorf("before the erasure the ids are those of %q", found)
	}
	erase := importer
	anonymous, err := s.Privacy.BeginErasure(t.Context(), "gone", &erase)
	for rows := int64(1); rows > 0 && err == nil; {
		rows, err = s.Privacy.EraseStep(t.Context(), "gone", anonymous)
	}
	if err != nil {
		t.Fatal(err)
	}
	if found := named(); !slices.Equal(found, []string{"kept1", "kept2"}) {
		t.Errorf("after the erasure the ids are those of %q", found)
	}
	if n := conn.Count(t, `select count(distinct event_id) from user_score_histories where user_id = $1`,
		anonymous); n != 3 {
		t.Errorf("the anonymous name has %d events, want 3", n)
	}
	wantOutcome(t, writeImport(t, s, id, "kept", 8), 0, 1, 0)
	if n := conn.Count(t, `select count(*) from scores where user_id = $1 and version = 3 and score = 8`,
		anonymous); n != 1 {
		t.Error("the score of the anonymous name is not 8 after three events")
	}
}

// Metadata of another system is that of the imported score, by the mode of the board; a board that keeps none
// rejects the record alone. A comparison with the ledger finds the same.
func TestImportsWithMetadata(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for _, mode := range []scoreboard.Mode{scoreboard.ModeIncrement, scoreboard.ModeBest, scoreboard.ModeLatest} {
		board := scoreboard.BoardID("laps-" + mode)
		createBoard(t, conn, string(board), string(mode), "highest", 0, 1000)
		conn.Do(t, `update boards set metadata = 'public' where board_id = $1`, board)
		id := startImport(t, s, "old", board)
		write := func(records ...scoreboard.ImportRecord) scoreboard.ImportOutcome {
			t.Helper()
			out, err := s.Imports.WriteImport(t.Context(), id, records, &importer)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		metadata := func() (text string) {
			const sql = `select coalesce(metadata, 'none') from scores where board_id = $1 and user_id = 'ada'`
			if err := conn.QueryRow(t.Context(), sql, board).Scan(&text); err != nil {
				t.Fatal(err)
			}
			return text
		}
		ada := scoreboard.ImportRecord{User: "ada", Score: 10, Metadata: `{"car":1}`}
		out := write(ada, scoreboard.ImportRecord{User: "bob", Score: 5})
		if out.Written != 2 || metadata() != `{"car":1}` {
			t.Errorf("%s: got %+v, %s", mode, out, metadata())
		}
		if out := write(scoreboard.ImportRecord{User: "ada", Score: 10, Metadata: `{"car":2}`}); out.Unchanged != 1 ||
			metadata() != `{"car":1}` {
			t.Errorf("%s: the score has not changed: got %+v, %s", mode, out, metadata())
		}
		want := `{"car":3}`
		if mode == scoreboard.ModeBest {
			want = `{"car":1}`
		}
		if out := write(scoreboard.ImportRecord{User: "ada", Score: 9, Metadata: `{"car":3}`}); out.Written != 1 ||
			metadata() != want {
			t.Errorf("%s: a lower score: got %+v, %s, want %s", mode, out, metadata(), want)
		}
		if n := conn.Count(t, `select count(*) from user_score_histories where board_id = $1 and metadata is not null`,
			board); n != 2 {
			t.Errorf("%s: %d rows of the ledger have metadata, want 2", mode, n)
		}
		conn.Do(t, `update boards set metadata = null where board_id = $1`, board)
		cy := scoreboard.ImportRecord{User: "cy", Score: 7, Metadata: `{}`}
		out = write(cy, scoreboard.ImportRecord{User: "dan", Score: 6})
		if out.Written != 1 || len(out.Rejected) != 1 || wire.CodeOf(out.Rejected[0].Err) != wire.CodeInvalidRequest {
			t.Errorf("%s: a board without metadata: got %+v, want cy rejected", mode, out)
		}
	}
}
