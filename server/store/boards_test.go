package store_test

import (
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

func boardOf(id scoreboard.BoardID, edit ...func(*scoreboard.Board)) *scoreboard.Board {
	b := &scoreboard.Board{
		ID:        id,
		Mode:      scoreboard.ModeIncrement,
		Order:     scoreboard.OrderHighest,
		Period:    scoreboard.PeriodNone,
		TimeZone:  "UTC",
		WeekStart: time.Monday,
		Public:    true,
		MinDelta:  1,
		MaxDelta:  1000,
		MinScore:  -scoreboard.MaxScore,
		MaxScore:  scoreboard.MaxScore,
	}
	for _, e := range edit {
		e(b)
	}
	return b
}

func every(p scoreboard.Period) func(*scoreboard.Board) {
	return func(b *scoreboard.Board) { b.Period = p }
}

func create(t testing.TB, s *store.Store, b *scoreboard.Board, season ...scoreboard.Span) *scoreboard.Board {
	t.Helper()
	if season == nil {
		season = []scoreboard.Span{{}}
	}
	made, err := s.Boards.CreateBoard(t.Context(), b, &season[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// databaseTime is the database's time, which decides.
func databaseTime(t testing.TB, conn *backends.Conn) (at time.Time) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), `select clock_timestamp()`).Scan(&at); err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

// TestPartitionsOfBoard sets them on a board and its instances, and leaves them where only the
// requirements change.
func TestPartitionsOfBoard(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	create(t, s, boardOf("large", every(scoreboard.PeriodDaily)))
	want := func(n int) {
		t.Helper()
		boards, err := s.Boards.FindBoards(t.Context(), scoreboard.BoardFilter{Family: "large", Limit: 10})
		if err != nil || len(boards) < 3 {
			t.Fatalf("boards: %+v, %v", boards, err)
		}
		for _, b := range boards {
			read, err := s.Recovery.Partitions(t.Context(), b.ID)
			if err != nil || b.Partitions != n || read != n {
				t.Errorf("%s: got %d and %d partitions, %v; want %d", b.ID, b.Partitions, read, err, n)
			}
		}
	}
	want(1)
	for _, change := range []struct {
		to   *scoreboard.BoardChange
		want int
	}{
		{&scoreboard.BoardChange{Partitions: new(8)}, 8},
		{&scoreboard.BoardChange{Require: &scoreboard.Requirements{}}, 8},
		{&scoreboard.BoardChange{Partitions: new(64)}, 64},
		{&scoreboard.BoardChange{Partitions: new(1)}, 1},
	} {
		b, err := s.Boards.ChangeBoard(t.Context(), "large", change.to, nil)
		if err != nil || b.Partitions != change.want {
			t.Errorf("set %+v: %+v, %v", change.to, b, err)
		}
		want(change.want)
	}
}

func TestCreateBoard(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	want := boardOf("eu-weekly", func(b *scoreboard.Board) {
		b.Mode, b.Order = scoreboard.ModeBest, scoreboard.OrderLowest
		b.Period, b.TimeZone, b.WeekStart = scoreboard.PeriodWeekly, "Europe/Berlin", time.Sunday
		b.MinDelta, b.MaxDelta, b.MinScore, b.MaxScore, b.Public, b.Region = -5, 7, -70, 80, false, "eu"
		b.Partitions = 3
		b.Platform, b.Tags = "pc", []string{"duel", "ranked"}
	})
	made := create(t, s, want)
	want.Family, want.Status, want.BoundsVersion, want.Created = "eu-weekly", scoreboard.StatusActive, 1, made.Created
	if !reflect.DeepEqual(made, want) || time.Since(made.Created).Abs() > time.Minute {
		t.Errorf("got %+v, want %+v", made, want)
	}
	_, err := s.Boards.CreateBoard(t.Context(), boardOf("eu-weekly"), nil, nil)
	if wire.CodeOf(err) != wire.CodeConflict {
		t.Errorf("created twice: got %v, want a conflict", err)
	}
	instances, err := s.Boards.FindBoards(
		t.Context(),
		scoreboard.BoardFilter{Family: "eu-weekly", After: "eu-weekly", Limit: 10},
	)
	if err != nil || len(instances) != 3 {
		t.Fatalf("instances: got %+v, %v, want the current one and two ahead", instances, err)
	}
	for i, b := range instances {
		span, err := made.SpanAt(b.PeriodStart)
		if err != nil || b.Span() != span || b.ID != made.ID.Instance(span) {
			t.Errorf("got %+v, want %+v (%v)", b.Span(), span, err)
		}
		if i > 0 && !b.PeriodStart.Equal(instances[i-1].PeriodEnd) {
			t.Errorf("%s begins at %s, the one before ends at %s", b.ID, b.PeriodStart, instances[i-1].PeriodEnd)
		}
		b.ID, b.PeriodStart, b.PeriodEnd, b.Created = want.ID, time.Time{}, time.Time{}, want.Created
		if !reflect.DeepEqual(&b, want) {
			t.Errorf("instance rules: got %+v, want %+v", b, *want)
		}
	}
	if span := instances[0].Span(); !span.Contains(time.Now()) {
		t.Errorf("the first instance is %+v, want the current period", span)
	}
}

// Migrations add columns to boards: an instance copies those of its family, too.
func TestInstanceCopiesEveryRuleOfItsFamily(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	conn.Do(t, `alter table boards add column later text default 'default'`)
	family := create(t, s, boardOf("daily", every(scoreboard.PeriodDaily)))
	conn.Do(t, `delete from boards where board_id <> family_id; update boards set later = 'set'`)
	if made, err := s.Boards.MakeInstances(t.Context(), family); err != nil || len(made) != 3 {
		t.Fatalf("made %v, %v", made, err)
	}
	if made, err := s.Boards.MakeInstances(t.Context(), family); err != nil || len(made) != 0 {
		t.Errorf("second call: made %v, %v", made, err)
	}
	if n := conn.Count(
		t,
		`select count(*) from boards where family_id = 'daily' and later = 'set' and board_id <> family_id`,
	); n != 3 {
		t.Errorf("%d instances have the rule, want 3", n)
	}
}

func TestIncrementToFamilyGoesToCurrentInstance(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for _, p := range []scoreboard.Period{scoreboard.PeriodDaily, scoreboard.PeriodWeekly, scoreboard.PeriodMonthly} {
		create(
			t,
			s,
			boardOf(scoreboard.BoardID(p), every(p), func(b *scoreboard.Board) { b.TimeZone = "Pacific/Chatham" }),
		)
	}
	names := []scoreboard.BoardID{"global", "monthly", "daily", "weekly"}
	for range 2 {
		first := record(
			t,
			s,
			increment("alice", 5, "e1", names...),
			increment("bob", 3, "e1", "daily"),
			increment("alice", 2, "e2", "weekly", "daily"),
		)
		for i, want := range [][]scoreboard.Score{{5, 5, 5, 5}, {3}, {7, 7}} {
			if first[i].Err != nil || len(first[i].Receipts) != len(want) {
				t.Fatalf("item %d: got %+v", i, first[i])
			}
			for j, r := range first[i].Receipts {
				asked := append(names, "daily", "weekly", "daily")[j+[]int{0, 4, 5}[i]]
				if r.NewScore != want[j] || r.Board != asked && !strings.HasPrefix(string(r.Board), string(asked)+":") {
					t.Errorf("item %d: receipt %d is %+v, want %d on %s", i, j, r, want[j], asked)
				}
			}
		}
	}
	if n := conn.Count(t, `select count(*) from scores join boards using (board_id) where period <> 'none'
and (board_id = family_id or recorded_at < period_start or recorded_at >= period_end)`); n != 0 {
		t.Errorf("%d scores are on an instance of another period", n)
	}
	if n := conn.Count(t, `select count(*) from user_score_histories`); n != 7 {
		t.Errorf("the ledger has %d rows, want 7", n)
	}
}

func TestWriteCreatesAMissingInstance(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("daily", every(scoreboard.PeriodDaily)))
	conn.Do(t, `delete from boards where board_id <> family_id`)
	if o := record(t, s, increment("alice", 5, "e1", "global", "daily"))[0]; o.Err != nil ||
		o.Receipts[1].NewScore != 5 {
		t.Errorf("got %+v", o)
	}
}

// One season ends and another begins: every increment is in exactly one, and a
// repeat is answered from the season that recorded it.
func TestSeasons(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t, func(o *store.Options) { o.CloseGrace = time.Hour })
	now := databaseTime(t, conn)
	end := now.Add(1500 * time.Millisecond)
	family := create(
		t,
		s,
		boardOf("season", every(scoreboard.PeriodSeason)),
		scoreboard.Span{Name: "one", Start: now.Add(-time.Hour), End: end},
	)
	first := record(t, s, increment("alice", 5, "e1", "season"))[0]
	if first.Err != nil || first.Receipts[0].Board != "season:one" {
		t.Fatalf("got %+v", first)
	}
	for databaseTime(t, conn).Before(end) {
		time.Sleep(20 * time.Millisecond)
	}
	late := increment("bob", 5, "late", "season")
	if o := record(t, s, late)[0]; wire.CodeOf(o.Err) != wire.CodeBoardClosed {
		t.Errorf("between two seasons: got %+v", o)
	}
	late.Accepted = end.Add(-time.Millisecond)
	if o := record(t, s, late)[0]; o.Err != nil || o.Receipts[0].Board != "season:one" {
		t.Errorf("accepted before the end: got %+v", o)
	}
	early := increment("bob", 5, "early", "season")
	early.Accepted = now.Add(-2 * time.Hour)
	if o := record(t, s, early)[0]; wire.CodeOf(o.Err) != wire.CodeBoardClosed {
		t.Errorf("accepted before the season: got %+v", o)
	}
	conn.Do(t, `select create_board_instance($1, 'season:two', $2, $3)`, family.ID, end, end.Add(time.Hour))
	both := record(t, s, increment("alice", 5, "e1", "season"), increment("alice", 7, "e2", "season"))
	if r := both[0].Receipts; both[0].Err != nil || r[0].Board != "season:one" || !r[0].Replayed || r[0].NewScore != 5 {
		t.Errorf("repeat: got %+v", both[0])
	}
	if r := both[1].Receipts; both[1].Err != nil || r[0].Board != "season:two" || r[0].NewScore != 7 ||
		r[0].Version != 1 {
		t.Errorf("new event: got %+v", both[1])
	}
}

func TestClosedBoardRejectsAllButRepeats(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	create(t, s, boardOf("daily", every(scoreboard.PeriodDaily)))
	if o := record(t, s, increment("alice", 5, "e1", "daily"))[0]; o.Err != nil {
		t.Fatal(o.Err)
	}
	for _, which := range []string{`board_id = 'daily'`, `board_id <> family_id`} {
		conn.Do(
			t,
			`update boards set status = case when `+which+` then 'frozen' else 'active' end where family_id = 'daily'`,
		)
		both := record(t, s, increment("alice", 5, "e1", "daily"), increment("alice", 5, "e2", "global", "daily"))
		if both[0].Err != nil || !both[0].Receipts[0].Replayed {
			t.Errorf("%s: repeat: got %+v", which, both[0])
		}
		if wire.CodeOf(both[1].Err) != wire.CodeBoardClosed {
			t.Errorf("%s: got %+v, want board_closed", which, both[1])
		}
	}
	if n := conn.Count(t, `select count(*) from user_score_histories`); n != 1 {
		t.Errorf("the ledger has %d rows, want 1", n)
	}
}

// A catalog reads the boards again if any of them has changed, and only then.
func TestCatalogReadsWhatHasChanged(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for _, name := range []scoreboard.BoardID{"a", "b", "c"} {
		create(t, s, boardOf(name))
	}
	c := store.NewCatalog(s.Boards, slog.New(slog.DiscardHandler))
	known := func() *scoreboard.Board {
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		return c.Known("global")
	}
	last := known()
	if known() != last {
		t.Error("the boards were read again, and none has changed")
	}
	for _, change := range []string{
		`update boards set max_delta = 7 where board_id = 'a'`,
		`update boards set max_delta = 8 where board_id in ('a', 'b')`,
		`update boards set board_id = 'e', family_id = 'e' where board_id = 'c'`,
		`delete from boards where board_id = 'b'`,
		`insert into boards (board_id, family_id, mode) values ('d', 'd', 'best')`,
		`do $$ begin update boards set max_delta = 9 where board_id = 'd'; exception when others then raise; end $$`,
	} {
		conn.Do(t, change)
		read := known()
		if read == last {
			t.Errorf("the boards were not read after: %s", change)
		}
		if last = known(); last != read {
			t.Errorf("the boards were read twice after: %s", change)
		}
	}
	if b := c.Known("d"); b == nil || b.MaxDelta != 9 || c.Known("b") != nil {
		t.Errorf("the catalog has %+v", b)
	}
}

func TestCatalogFindsANewBoard(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	c := store.NewCatalog(s.Boards, slog.New(slog.DiscardHandler))
	if _, err := c.Board(t.Context(), "daily"); wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("before it was created: got %v", err)
	}
	create(t, s, boardOf("daily", every(scoreboard.PeriodDaily)))
	b, err := c.Board(t.Context(), "daily")
	if err != nil || b.IsFamily() || !b.Span().Contains(databaseTime(t, conn)) {
		t.Errorf("got %+v, %v, want today's", b, err)
	}
	started := time.Now()
	for range 5 {
		if _, err := c.Board(t.Context(), "nobody"); wire.CodeOf(err) != wire.CodeNotFound {
			t.Errorf("unknown board: got %v", err)
		}
	}
	if took := time.Since(started); took < 300*time.Millisecond {
		t.Errorf("five lookups of an unknown board took %s: each one read the database", took)
	}
}
