package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// The final standings equal the ranking, including ties, even if copying was
// interrupted; the hash covers exactly these rows.
func TestFinalStandings(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	now := databaseTime(t, conn)
	create(
		t,
		s,
		boardOf("season", every(scoreboard.PeriodSeason)),
		scoreboard.Span{Name: "one", Start: now.Add(-time.Hour), End: now.Add(time.Hour)},
	)
	var batch []scoreboard.Increment
	for i := range 25 {
		batch = append(batch, increment(scoreboard.UserID(fmt.Sprintf("u%02d", i)), int64(1+i%4), "e", "season"))
	}
	record(t, s, batch...)
	conn.Do(t, `update scores set hidden = true where user_id = 'u03'`)
	chunks := 0
	next := func(context.Context) error {
		chunks++
		return nil
	}
	_, err := s.Boards.CopyStandings(t.Context(), "season:one", 10, next)
	if wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("before it is closed: got %v, want a conflict", err)
	}
	if ended, err := s.Boards.EndedPeriods(t.Context(), ""); err != nil || len(ended) != 0 {
		t.Errorf("before its end: %+v, %v", ended, err)
	}
	b, err := s.Boards.FindBoard(t.Context(), "season:one")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Boards.CloseBoard(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	b, err = s.Boards.FindBoard(t.Context(), b.ID)
	if err != nil || !b.Closed.IsZero() || b.Status != scoreboard.StatusActive {
		t.Errorf("closed before its end: %+v, %v", b, err)
	}
	conn.Do(t, `update boards set period_end = clock_timestamp() where board_id = 'season:one'`)
	ended, err := s.Boards.EndedPeriods(t.Context(), "season")
	if err != nil || len(ended) != 1 || ended[0].Board.ID != "season:one" {
		t.Fatalf("after its end: %+v, %v", ended, err)
	}
	for range 2 {
		if err := s.Boards.CloseBoard(t.Context(), &ended[0].Board); err != nil {
			t.Fatal(err)
		}
	}
	o := record(t, s, increment("late", 5, "e", "season"))[0]
	if wire.CodeOf(o.Err) != wire.CodeBoardClosed {
		t.Errorf("after it is closed: got %+v", o)
	}
	if _, err := s.Boards.UnfreezeBoard(t.Context(), b.ID, nil); wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("unfreeze a closed season: got %v, want a conflict", err)
	}
	chunks = 0
	interrupted := errors.New("interrupted")
	n, err := s.Boards.CopyStandings(t.Context(), b.ID, 10, func(ctx context.Context) error {
		if chunks == 2 {
			return interrupted
		}
		return next(ctx)
	})
	if n != 10 || !errors.Is(err, interrupted) {
		t.Fatalf("interrupted: copied %d, %v, want 10", n, err)
	}
	for _, want := range []int{14, 0} {
		n, err := s.Boards.CopyStandings(t.Context(), b.ID, 10, next)
		if err != nil || n != want {
			t.Fatalf("copied %d, %v, want %d", n, err, want)
		}
	}
	if chunks != 2+3+1 { // each call first looks where to continue
		t.Errorf("asked %d times whether to go on, want 6", chunks)
	}
	for range 2 {
		if sealed, err := s.Boards.SealStandings(t.Context(), b.ID); err != nil || !sealed {
			t.Fatal(sealed, err)
		}
	}
	_, err = s.Boards.CopyStandings(t.Context(), b.ID, 10, next)
	if wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("after it is sealed: got %v, want a conflict", err)
	}
	e, final, err := s.Boards.FinalStandings(t.Context(), b.ID, 0, 100)
	if err != nil || e.Users != 24 || len(final) != 24 {
		t.Fatalf("%+v, %d rows, %v", e, len(final), err)
	}
	storetest.CopyScores(t, s, conn)
	top, err := s.Reads.Page(t.Context(), b, nil, 100)
	if err != nil || len(top.Entries) != 24 {
		t.Fatalf("%+v, %v", top, err)
	}
	sum, salts := sha256.New(), map[string]bool{}
	for i, f := range final {
		if f.Rank != top.Entries[i].Rank || f.User != top.Entries[i].User || f.Score != top.Entries[i].Score {
			t.Errorf("row %d: got %+v, the ranking has %+v", i, f, top.Entries[i])
		}
		leaf := sha256.Sum256(fmt.Appendf(nil, "%d\t%s\t%d\t%d\t%s\n",
			f.Rank, f.User, f.Score, f.ReachedAt.UnixMicro(), f.Salt))
		if f.Leaf != hex.EncodeToString(leaf[:]) || len(f.Salt) != 32 || salts[f.Salt] {
			t.Errorf("row %d: salt %q, leaf %s, which is not the hash of the row", i, f.Salt, f.Leaf)
		}
		salts[f.Salt] = true
		fmt.Fprintf(sum, "%x\n", leaf)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); e.Board.StandingsHash != got {
		t.Errorf("the stored hash is %s, the rows hash to %s", e.Board.StandingsHash, got)
	}
	// Users banned later are masked; the rows and the hash stay.
	conn.Do(t, `update users set status = 'banned' where user_id = $1`, final[0].User)
	if again, masked, err := s.Boards.FinalStandings(
		t.Context(),
		b.ID,
		0,
		2,
	); err != nil || again.Board.StandingsHash != e.Board.StandingsHash || masked[0] != final[1] ||
		masked[1] != final[2] {
		t.Errorf("masked: %+v, %v", masked, err)
	}
	// Erased users stay under another name.
	anonymous, err := s.Privacy.BeginErasure(
		t.Context(),
		final[1].User,
		&scoreboard.AuditEntry{Actor: "root", Action: "user.erase", Target: "x", Reason: "asked"},
	)
	if err != nil {
		t.Fatal(err)
	}
	if again, renamed, err := s.Boards.FinalStandings(
		t.Context(),
		b.ID,
		0,
		2,
	); err != nil || again.Board.StandingsHash != e.Board.StandingsHash ||
		renamed[0].User != anonymous || renamed[0].Salt != "" || renamed[0].Leaf != final[1].Leaf {
		t.Errorf("erased: %+v, %v, want %s first", renamed, err, anonymous)
	}
	if err := s.Boards.MarkAnnounced(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	if ended, err := s.Boards.EndedPeriods(t.Context(), ""); err != nil || len(ended) != 0 {
		t.Errorf("after it is announced: %+v, %v", ended, err)
	}
	_, _, err = s.Boards.FinalStandings(t.Context(), "global", 0, 1)
	if wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("a board that has not ended: got %v", err)
	}
}

// Users are banned, unbanned and erased between two chunks of the copy. The sealed
// standings are the ranking at the moment of the seal.
func TestStandingsAreOneSnapshot(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	now := databaseTime(t, conn)
	create(
		t, s, boardOf("season", every(scoreboard.PeriodSeason)),
		scoreboard.Span{Name: "one", Start: now.Add(-time.Hour), End: now.Add(time.Hour)},
	)
	var batch []scoreboard.Increment
	for i := range 30 {
		batch = append(batch, increment(scoreboard.UserID(fmt.Sprintf("u%02d", i)), int64(1000-i), "e", "season"))
	}
	record(t, s, batch...)
	why := func(user string) *scoreboard.AuditEntry {
		return &scoreboard.AuditEntry{Actor: "root", Action: "test", Target: "user:" + user, Reason: "test"}
	}
	ban := func(user string, banned bool) {
		t.Helper()
		change := s.Moderation.Unban
		if banned {
			change = s.Moderation.Ban
		}
		if _, err := change(t.Context(), scoreboard.UserID(user), why(user)); err != nil {
			t.Fatal(err)
		}
	}
	// Copies all, and calls between after as many chunks as it has functions.
	copyAll := func(want int, between ...func()) {
		t.Helper()
		calls := 0
		n, err := s.Boards.CopyStandings(t.Context(), "season:one", 10, func(context.Context) error {
			if calls++; calls > 2 && calls-3 < len(between) {
				between[calls-3]()
			}
			return nil
		})
		if err != nil || n != want {
			t.Fatalf("copied %d, %v; want %d", n, err, want)
		}
	}
	ban("u07", true)
	conn.Do(t, `update boards set period_end = clock_timestamp() where board_id = 'season:one'`)
	ended, err := s.Boards.EndedPeriods(t.Context(), "season")
	if err != nil || len(ended) != 1 {
		t.Fatal(ended, err)
	}
	if err := s.Boards.CloseBoard(t.Context(), &ended[0].Board); err != nil {
		t.Fatal(err)
	}
	copyAll(29, func() { // after u00 to u10 without u07
		ban("u03", true)
		ban("u07", false)
		ban("u25", true)
	}, func() {
		if _, err := s.Privacy.BeginErasure(t.Context(), "u12", why("u12")); err != nil {
			t.Error(err)
		}
	})
	for _, want := range []bool{false, true, true} { // the last one finds it sealed
		sealed, err := s.Boards.SealStandings(t.Context(), "season:one")
		if err != nil || sealed != want {
			t.Fatalf("sealed: %t, %v; want %t", sealed, err, want)
		}
		if !sealed {
			copyAll(24)
		}
	}
	ban("u00", true) // after the seal: masked
	e, final, err := s.Boards.FinalStandings(t.Context(), "season:one", 0, 100)
	if err != nil || e.Users != 27 || len(final) != 26 || conn.Count(t, `select count(*) from board_standings`) != 27 {
		t.Fatalf("%d of %d rows, %v; want 26 of 27", len(final), e.Users, err)
	}
	rank := int64(1)
	for i := 1; i < 30; i++ {
		if i == 3 || i == 12 || i == 25 {
			continue
		}
		rank++
		f, user := final[rank-2], scoreboard.UserID(fmt.Sprintf("u%02d", i))
		if f.User != user || f.Rank != rank || f.Score != scoreboard.Score(1000-i) {
			t.Errorf("got %+v, want %s at %d", f, user, rank)
		}
	}
}

func TestSeasonsMustNotOverlap(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.CloseGrace = time.Minute })
	now := databaseTime(t, conn)
	create(
		t,
		s,
		boardOf("season", every(scoreboard.PeriodSeason)),
		scoreboard.Span{Name: "one", End: now.Add(time.Hour)},
	)
	create(t, s, boardOf("daily", every(scoreboard.PeriodDaily)))
	span := func(name string, from, to time.Duration) scoreboard.Span {
		return scoreboard.Span{Name: name, Start: now.Add(from), End: now.Add(to)}
	}
	at := scoreboard.Span{Name: "two", End: now.Add(3 * time.Hour)} // begins now
	long := scoreboard.Span{Name: "x", End: now.Add(5 * time.Hour)} // begins now
	for _, c := range []struct {
		what   string
		family scoreboard.BoardID
		season scoreboard.Span
		dry    bool
		fails  wire.Code
		ends   scoreboard.BoardID
	}{
		{"overlaps the current season", "season", span("x", time.Minute, 2*time.Hour), false, "conflict", ""},
		{"after the current season", "season", span("late", 4*time.Hour, 5*time.Hour), false, "", ""},
		{"duplicate name", "season", span("late", 6*time.Hour, 7*time.Hour), false, "conflict", ""},
		{"now, dry run", "season", at, true, "", "season:one"},
		{"now, overlaps the next", "season", long, false, "conflict", ""},
		{"now", "season", at, false, "", "season:one"},
		{"a daily board", "daily", at, false, "invalid_request", ""},
		{"an unknown board", "nobody", at, false, "not_found", ""},
	} {
		ended, err := s.Boards.BeginSeason(t.Context(), c.family, c.season, c.dry, nil)
		if wire.CodeOf(err) != c.fails || (ended != nil) != (c.ends != "") || ended != nil && *ended != c.ends {
			t.Errorf("%s: got %v, %v", c.what, ended, err)
		}
	}
	if n := conn.Count(
		t,
		`select count(*) from boards a join boards b on a.period_end = b.period_start where a.board_id = 'season:one'
and b.board_id = 'season:two'`,
	); n != 1 {
		t.Error("the second season does not begin when the first ends")
	}
	if o := record(t, s, increment("alice", 5, "e", "season"))[0]; o.Err != nil || o.Receipts[0].Board != "season:two" {
		t.Errorf("got %+v", o)
	}
}

// awaitLockWaits waits until a statement has waited for a lock in so many transactions.
func awaitLockWaits(t *testing.T, conn *backends.Conn, transactions int) {
	t.Helper()
	seen := make(map[time.Time]bool)
	for deadline := time.Now().Add(10 * time.Second); len(seen) < transactions; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d transactions waited for a lock, want %d", len(seen), transactions)
		}
		rows, err := conn.Query(t.Context(), `select xact_start from pg_stat_activity
where wait_event_type = 'Lock' and datname = current_database()`)
		if err != nil {
			t.Fatal(err)
		}
		begun, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range begun {
			seen[at] = true
		}
	}
}

// A season that begins now waits for a change of its board, and has it.
func TestSeasonBeginsWhileBoardChanges(t *testing.T) {
	t.Parallel()
	for what, board := range map[string]scoreboard.BoardID{
		"its family": "season", "the current season": "season:one",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, conn := storetest.New(t)
			end := databaseTime(t, conn).Add(time.Hour)
			create(t, s, boardOf("season", every(scoreboard.PeriodSeason)), scoreboard.Span{Name: "one", End: end})
			changing := backends.Connect(t, conn.URL)
			changing.Do(t, `begin`)
			changing.Do(t, `update boards set partitions = 8, require_attestation = true where board_id = $1`, board)
			begun := make(chan error, 1)
			go func() {
				two := scoreboard.Span{Name: "two", End: end}
				_, err := s.Boards.BeginSeason(t.Context(), "season", two, false, nil)
				begun <- err
			}()
			awaitLockWaits(t, conn, 3) // each attempt waits for a moment only
			changing.Do(t, `commit`)
			if err := <-begun; err != nil {
				t.Fatal(err)
			}
			if n := conn.Count(t, `select count(*) from boards as i join boards as f on f.board_id = i.family_id
where i.board_id = 'season:two'
    and (i.partitions, i.require_attestation) = (f.partitions, f.require_attestation)`); n != 1 {
				t.Error("the season lacks a change of its family")
			}
		})
	}
}

// A season that was being created when a change began has it, too.
func TestBoardChangesWhileSeasonBegins(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	end := databaseTime(t, conn).Add(time.Hour)
	create(t, s, boardOf("season", every(scoreboard.PeriodSeason)), scoreboard.Span{Name: "one", End: end})
	beginning := backends.Connect(t, conn.URL)
	beginning.Do(t, `begin`)
	beginning.Do(t, `select 1 from boards where board_id = 'season' for share`) // as BeginSeason
	beginning.Do(t, `select create_board_instance('season', 'season:two', $1, $2)`, end, end.Add(time.Hour))
	changed := make(chan error, 1)
	go func() {
		partitions := 8
		change := &scoreboard.BoardChange{
			Partitions: &partitions, Require: &scoreboard.Requirements{Attestation: true},
		}
		_, err := s.Boards.ChangeBoard(t.Context(), "season", change, nil)
		changed <- err
	}()
	awaitLockWaits(t, conn, 1)
	beginning.Do(t, `commit`)
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	if n := conn.Count(t, `select count(*) from boards where partitions = 8 and require_attestation`); n != 3 {
		t.Errorf("%d of 3 boards have the change", n)
	}
}

func TestLeaseIsExclusiveUntilItExpires(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	take := func(owner string, ttl time.Duration, want bool) {
		t.Helper()
		if mine, err := s.Leases.TakeLease(t.Context(), "l", owner, ttl); err != nil || mine != want {
			t.Errorf("%s: got %t, %v, want %t", owner, mine, err, want)
		}
	}
	take("a", time.Hour, true)
	take("a", time.Hour, true)
	take("b", time.Hour, false)
	take("a", -time.Second, true)
	take("b", time.Hour, true)
	if err := s.Leases.ReleaseLease(t.Context(), "l", "a"); err != nil {
		t.Error(err)
	}
	take("a", time.Hour, false)
	if err := s.Leases.ReleaseLease(t.Context(), "l", "b"); err != nil {
		t.Error(err)
	}
	take("a", time.Hour, true)
}

// An erasure has looked for final standings before they are copied, and is committed after the seal has compared them:
// they have the anonymous name, without a salt.
func TestErasureWhileStandingsAreSealed(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { // an erasure that gives up looks for standings again
		o.LockWait, o.Timeout = time.Minute, time.Minute
	})
	now := databaseTime(t, conn)
	create(t, s, boardOf("season", every(scoreboard.PeriodSeason)),
		scoreboard.Span{Name: "one", Start: now.Add(-time.Hour), End: now.Add(time.Hour)})
	record(t, s, increment("ada", 5, "e", "season"), increment("bob", 3, "e", "season"))
	conn.Do(t, `insert into profiles (user_id, display_name) values ('ada', 'Ada')`)
	conn.Do(t, `update boards set period_end = clock_timestamp() where board_id = 'season:one'`)
	b, err := s.Boards.FindBoard(t.Context(), "season:one")
	if err == nil {
		err = s.Boards.CloseBoard(t.Context(), b)
	}
	if err != nil {
		t.Fatal(err)
	}
	// The erasure waits for this row, behind its look for standings.
	profile := backends.Connect(t, conn.URL)
	profile.Do(t, `begin`)
	profile.Do(t, `select from profiles where user_id = 'ada' for update`)
	var both sync.WaitGroup
	t.Cleanup(both.Wait)
	both.Go(func() {
		_, err := s.Privacy.BeginErasure(t.Context(), "ada", &scoreboard.AuditEntry{
			Actor: "root", Action: "user.erase", Target: "x", Reason: "asked",
		})
		if err != nil {
			t.Error(err)
		}
	})
	awaitLockWaits(t, conn, 1)
	if n, err := s.Boards.CopyStandings(t.Context(), b.ID, 10, goOn); err != nil || n != 2 {
		t.Errorf("%d standings copied, want 2, %v", n, err)
	}
	both.Go(func() {
		if sealed, err := s.Boards.SealStandings(t.Context(), b.ID); err != nil || !sealed {
			t.Errorf("sealed %t, %v", sealed, err)
		}
	})
	awaitLockWaits(t, conn, 2) // the seal, too
	profile.Do(t, `rollback`)
	both.Wait()
	if n := conn.Count(t, `select count(*) from board_standings where user_id = 'ada'`); n != 0 {
		t.Error("the standings name a user who was erased")
	}
	const nameless = `select count(*) from board_standings where user_id like 'erased-%' and salt is null`
	if n := conn.Count(t, nameless); n != 1 {
		t.Errorf("%d rows have the anonymous name and no salt, want 1", n)
	}
}
