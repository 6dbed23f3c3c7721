package reads_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

func TestMain(m *testing.M) {
	backends.Main(m, goleak.IgnoreTopFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}

var largeBoard = &scoreboard.Board{ID: "large", Family: "large", Order: scoreboard.OrderHighest}

// fillBoard puts n users with few distinct scores and times on the large board.
func fillBoard(t testing.TB, s *store.Store, conn *backends.Conn, n int) {
	t.Helper()
	conn.Do(
		t,
		`insert into scores (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at, hidden)
select 'u' || i, 'large', s, -s, 1, 1, timestamptz '2026-01-01' + make_interval(secs => (i * 7) % 11),
    clock_timestamp(), i % 50 = 0
from (select i, (i * 7919) % greatest($1 / 20, 1) as s from generate_series(1, $1) i) u`,
		n,
	)
	storetest.CopyScores(t, s, conn)
}

// Ranks counted from anchors equal ranks counted from the top, as do the ranks
// of pages, neighbours and lists.
func TestAnchorRanksEqualFullCounts(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	const users = 700
	fillBoard(t, s, conn, users)
	ctx := t.Context()
	var wants []*scoreboard.Place
	var ids []scoreboard.UserID
	for i := 1; i <= users; i++ {
		p, err := s.Reads.Place(ctx, largeBoard, scoreboard.UserID(fmt.Sprint("u", i)), 3)
		if hidden := i%50 == 0; hidden != (wire.CodeOf(err) == wire.CodeNotFound) || !hidden && err != nil {
			t.Fatalf("u%d: %v", i, err)
		}
		if err == nil {
			wants, ids = append(wants, p), append(ids, p.User)
		}
	}
	slices.SortFunc(wants, func(a, b *scoreboard.Place) int { return int(a.Rank - b.Rank) })
	for i, p := range wants {
		if p.Rank != int64(i+1) || p.Total != int64(len(wants)) {
			t.Fatalf("%s is %d of %d, want %d of %d", p.User, p.Rank, p.Total, i+1, len(wants))
		}
	}
	for _, step := range []int64{1, 7, 100, 686, 5000} {
		s.Reads.SetAnchors(10, step)
		for _, want := range wants {
			got, err := s.Reads.Place(ctx, largeBoard, want.User, 3)
			if err != nil || got.Rank != want.Rank || got.Total != want.Total ||
				!slices.Equal(got.Neighbours, want.Neighbours) {
				t.Fatalf("step %d: %+v, %v, want %+v", step, got, err, want)
			}
		}
		var after *scoreboard.Position
		for rank := int64(1); rank <= int64(len(wants)); {
			page, err := s.Reads.Page(ctx, largeBoard, after, 60)
			if err != nil || len(page.Entries) == 0 || page.Total != int64(len(wants)) {
				t.Fatalf("step %d: after %+v: %+v, %v", step, after, page, err)
			}
			for _, e := range page.Entries {
				if want := wants[rank-1]; e.Rank != rank || e.User != want.User || e.Score != want.Score {
					t.Fatalf("step %d: row %d is %+v, want %+v", step, rank, e, want)
				}
				rank++
			}
			p := page.Position(len(page.Entries)-1, largeBoard)
			after = &p
		}
		some := []scoreboard.UserID{"u50", "nobody"}
		for range 98 {
			some = append(some, ids[rand.IntN(len(ids))])
		}
		slices.Sort(some)
		list, err := s.Reads.List(ctx, largeBoard, slices.Compact(some))
		if err != nil || !slices.Equal(list.Missing, []scoreboard.UserID{"nobody", "u50"}) {
			t.Fatalf("step %d: missing %q, %v", step, list.Missing, err)
		}
		for _, e := range list.Entries {
			if e.User != wants[e.Rank-1].User {
				t.Fatalf("step %d: the list has %+v, want %s there", step, e, wants[e.Rank-1].User)
			}
		}
	}
}

// Answers are as of the scan that made the anchors, until the next scan; a
// standing that has moved since then has its new place.
func TestAnchorsExpire(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	s.Reads.SetAnchors(10, 20)
	fillBoard(t, s, conn, 300)
	first, err := s.Reads.Place(t.Context(), largeBoard, "u7", 1)
	if err != nil {
		t.Fatal(err)
	}
	conn.Do(t, `update scores set score = 1000000, order_key = -1000000, revision = 2 where user_id = 'u7'`)
	second, err := s.Reads.Place(t.Context(), largeBoard, "u7", 1)
	if err != nil || second.Rank != 1 || !second.AsOf.Equal(first.AsOf) || second.Neighbours[0].User != "u7" {
		t.Errorf("got %+v, %v, want it first, as of the same scan %s", second, err, first.AsOf)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		storetest.UpdateStandings(t, s)
		third, err := s.Reads.Place(t.Context(), largeBoard, "u7", 1)
		if err != nil {
			t.Fatal(err)
		}
		if third.AsOf.After(first.AsOf) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no new scan within 20 s")
		}
	}
}

// On a large board neither a place nor a page reads more of the index than the span
// between two anchors, and nothing reads the table.
func TestLargeBoardReadsAreBounded(t *testing.T) {
	t.Parallel()
	for name, analyse := range map[string]bool{"never analysed": false, "analysed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 1 })
			const users, questions, k = 20_000, 200, 5
			fillBoard(t, s, conn, 10) // plans are also made while the board is tiny
			for range 10 {
				if _, err := s.Reads.Place(t.Context(), largeBoard, "u1", k); err != nil {
					t.Fatal(err)
				}
			}
			conn.Do(t, `truncate scores, standings`)
			fillBoard(t, s, conn, users)
			if analyse {
				conn.Do(t, `analyze`)
			}
			s.Reads.SetAnchors(1000, 100)
			for range questions {
				user := scoreboard.UserID(fmt.Sprint("u", 1+50*rand.IntN(users/50)))
				p, err := s.Reads.Place(t.Context(), largeBoard, user, k)
				if err != nil {
					t.Fatal(err)
				}
				after := scoreboard.Position{Key: -int64(p.Score), ReachedAt: p.UpdatedAt, User: user}
				if _, err := s.Reads.Page(t.Context(), largeBoard, &after, 10); err != nil {
					t.Fatal(err)
				}
			}
			s.Close()
			got := storetest.TableReads(t, conn)["standings"]
			// Two counts of at most a step each, the rows shown, and a few scans.
			scans := int64(users) * 6
			if limit := scans + questions*(2*100+2*k+2*10+10); got.Scanned > 0 || got.Indexed > limit {
				t.Errorf(
					"%d calls read %d rows by scans and %d by indexes, want none and at most %d",
					questions,
					got.Scanned,
					got.Indexed,
					limit,
				)
			}
		})
	}
}
