package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

func withSubscores(order scoreboard.Order) func(*scoreboard.Board) {
	return func(b *scoreboard.Board) { b.Subscore, b.MinSubscore, b.MaxSubscore = order, -7, 7 }
}

// A board and its periods have the subscores and bounds that it was created with, or to which they were changed, and
// no delta is within the bounds that a daemon of a version without subscores reads.
func TestBoardWithSubscores(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	b := create(t, s, boardOf("goals", every(scoreboard.PeriodDaily), withSubscores(scoreboard.OrderLowest)))
	lowest, delta := int64(-20), int64(50)
	change := &scoreboard.BoardChange{Bounds: &scoreboard.BoundsChange{MinSubscore: &lowest, MaxDelta: &delta}}
	for _, changed := range []bool{false, true} {
		want := *b
		if changed {
			if _, err := s.Boards.ChangeBoard(t.Context(), "goals", change, nil); err != nil {
				t.Fatal(err)
			}
			want.MinSubscore, want.MaxDelta = scoreboard.Score(lowest), delta
		}
		found, err := s.Boards.FindBoards(t.Context(), scoreboard.BoardFilter{Family: "goals", Limit: 10})
		if err != nil || len(found) != 4 {
			t.Fatalf("%d boards, %v, want the family and three periods", len(found), err)
		}
		for i := range found {
			f := &found[i]
			if f.Subscore != scoreboard.OrderLowest || f.MinSubscore != want.MinSubscore || f.MaxSubscore != 7 ||
				f.MinDelta != want.MinDelta || f.MaxDelta != want.MaxDelta {
				t.Errorf("got %+v, want the bounds of %+v", f, want)
			}
		}
		if n := conn.Count(t, `select count(*) from boards where family_id = 'goals' and min_delta = $1
    and max_delta = $1`, int64(pg.ImpossibleDelta)); n != 4 {
			t.Errorf("%d of 4 boards reject every delta in the columns of the version before", n)
		}
	}
	create(t, s, boardOf("plain"))
	if n := conn.Count(t, `select count(*) from boards where board_id = 'plain' and pair_min_delta is null
    and max_delta < $1 and subscore is null`, int64(pg.ImpossibleDelta)); n != 1 {
		t.Error("a board without subscores does not have its bounds in the columns of the version before")
	}
	in := increment("ada", 3, "plain", "plain")
	in.Subscore = new(scoreboard.Score(1))
	if o := record(t, s, in)[0]; wire.CodeOf(o.Err) != wire.CodeInvalidRequest {
		t.Errorf("a subscore that no board takes: %v", o.Err)
	}
}

// Whatever is submitted, adjusted, reversed, banned and erased: the ledger adds up to the subscores, the last change
// in the outbox has them, and their keys are those of the board.
func TestLedgerAddsUpToSubscores(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	ctx := t.Context()
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	boards := []*scoreboard.Board{
		create(t, s, boardOf("goals", withSubscores(scoreboard.OrderHighest))),
		create(t, s, boardOf("duel", withSubscores(scoreboard.OrderLowest), func(b *scoreboard.Board) {
			b.Mode = scoreboard.ModeBest
		})),
		create(t, s, boardOf("draw", withSubscores(scoreboard.OrderHighest), func(b *scoreboard.Board) {
			b.Mode = scoreboard.ModeLatest
		})),
	}
	must := func(err error) {
		t.Helper()
		if err != nil && wire.CodeOf(err) == wire.CodeInternal {
			t.Fatal(err)
		}
	}
	for n := range 200 {
		user := scoreboard.UserID(fmt.Sprint("u", r.IntN(6)))
		board := boards[r.IntN(len(boards))].ID
		event := increment(user, 1, fmt.Sprint("e", r.IntN(n+1)), board).Event
		var err error
		switch kind := r.IntN(20); {
		case kind < 13:
			in := increment(user, 1+r.Int64N(3), fmt.Sprint("e", n), board)
			in.Subscore = new(scoreboard.Score(r.IntN(5) - 2))
			_, err = s.Increments.Record(ctx, []scoreboard.Increment{in})
		case kind < 15:
			a := scoreboard.Adjustment{User: user, Board: board, Delta: r.Int64N(5) - 2, Event: event}
			if a.Subscore = new(scoreboard.Score(r.IntN(5) - 2)); r.IntN(4) == 0 {
				a.Subscore = nil
			}
			_, err = s.Corrections.Adjust(ctx, a, because("user.adjust", user))
		case kind < 17:
			_, _, err = s.Corrections.Reverse(ctx, user, event, scoreboard.Reversing{}, because("event.reverse", user))
		case kind == 17:
			_, err = s.Moderation.Ban(ctx, user, because("user.ban", user))
		case kind == 18:
			_, err = s.Moderation.Unban(ctx, user, because("user.unban", user))
		case n > 150 && r.IntN(3) == 0:
			var anonymous scoreboard.UserID
			anonymous, err = s.Privacy.BeginErasure(ctx, user, because("user.erase", user))
			for rows := int64(1); err == nil && rows > 0; {
				rows, err = s.Privacy.EraseStep(ctx, user, anonymous)
			}
		}
		must(err)
	}
	for _, b := range boards {
		sums := 0
		err := s.Recovery.SumLedger(ctx, b.ID, "", 3, func(chunk []scoreboard.LedgerSum) error {
			for i := range chunk {
				a := &chunk[i]
				key, subKey := b.Keys(scoreboard.Pair{Score: a.Score, Subscore: a.Subscore})
				if a.Expected != int64(a.Score) || a.ExpectedSubscore != int64(a.Subscore) ||
					a.Key != key || a.SubKey != subKey {
					t.Errorf("%s on %s: got %+v", a.User, b.ID, a)
				}
				sums++
			}
			return nil
		})
		if err != nil || sums < 3 {
			t.Errorf("%s: %d users, %v", b.ID, sums, err)
		}
	}
	if n := conn.Count(t, `select count(*) from scores as s cross join lateral (
    select * from outbox_score_updates as o where o.user_id = s.user_id and o.board_id = s.board_id
    order by revision desc limit 1) as o
where (s.score, s.order_key, s.subscore, s.sub_key)
    is distinct from (o.score, o.order_key, coalesce(o.subscore, 0), coalesce(o.sub_key, 0))`); n != 0 {
		t.Errorf("the last changes of %d scores in the outbox are other scores", n)
	}
	if n := conn.Count(t, `select count(*) from scores where subscore <> 0`); n < 5 {
		t.Errorf("%d scores have a subscore: the test is vacuous", n)
	}
}

// An import writes the difference of both scores, and compares both.
func TestImportOfSubscores(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	for _, mode := range []scoreboard.Mode{scoreboard.ModeIncrement, scoreboard.ModeBest, scoreboard.ModeLatest} {
		b := create(t, s, boardOf(scoreboard.BoardID(mode), withSubscores(scoreboard.OrderHighest),
			func(b *scoreboard.Board) { b.Mode = mode }))
		id := startImport(t, s, "elsewhere", b.ID)
		write := func(score, subscore scoreboard.Score) scoreboard.ImportOutcome {
			out, err := s.Imports.WriteImport(t.Context(), id, []scoreboard.ImportRecord{
				{User: "ada", Score: score, Subscore: &subscore},
			}, because("import.records", "ada"))
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		want := func(score, subscore int64) {
			t.Helper()
			if n := conn.Count(t, `select count(*) from scores where board_id = $1 and score = $2 and subscore = $3`,
				b.ID,
				score, subscore); n != 1 {
				t.Errorf("%s: the score is not %d, %d", mode, score, subscore)
			}
		}
		wantOutcome(t, write(5, 100), 1, 0, 0) // beyond the bounds of a submission
		want(5, 100)
		wantOutcome(t, write(5, 100), 0, 1, 0)
		wantOutcome(t, write(5, 102), 1, 0, 0)
		want(5, 102)
		_, sum, err := s.Imports.SummarizeImport(t.Context(), id)
		if err != nil || sum.Digest != scoreboard.ImportDigest("ada", scoreboard.Pair{Score: 5, Subscore: 102}) {
			t.Errorf("%s: got %+v, %v", mode, sum, err)
		}
	}
	plain := create(t, s, boardOf("plain"))
	out, err := s.Imports.WriteImport(t.Context(), startImport(t, s, "elsewhere", plain.ID), []scoreboard.ImportRecord{
		{User: "ada", Score: 5, Subscore: new(scoreboard.Score(1))}, {User: "bob", Score: 4},
	}, because("import.records", "ada"))
	if err != nil || out.Written != 1 || len(out.Rejected) != 1 ||
		wire.CodeOf(out.Rejected[0].Err) != wire.CodeInvalidRequest {
		t.Errorf("a subscore for a board without: got %+v, %v", out, err)
	}
}

// Final standings are in the order of score, subscore, time and user, whatever chunks they are copied in and wherever
// a copy is interrupted, and the first comparison finds nothing wrong. Equal scores are reached in the opposite order
// of their subscores.
func TestFinalStandingsOfSubscores(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	const most = int64(scoreboard.MaxScore)
	best := []struct {
		user            scoreboard.UserID
		score, subscore int64
		rank, shared    int64
	}{ // where the highest of both rank first
		{"k", 9, -most, 1, 1},
		{"j", 5, most, 2, 2},
		{"i", 5, 1, 3, 3},
		{"c", 5, 0, 4, 4},
		{"h", 5, 0, 5, 4},
		{"g", 5, -1, 6, 6},
		{"f", 5, -most, 7, 7},
		{"a", 4, most, 8, 8},
	}
	orders := []scoreboard.Order{scoreboard.OrderHighest, scoreboard.OrderLowest}
	for n := range 8 {
		order, subscore := orders[n%2], orders[n/2%2]
		board := &scoreboard.Board{
			ID: scoreboard.BoardID(fmt.Sprint("sealed", n)), Order: order, Subscore: subscore,
			Ties: []scoreboard.Ties{"", scoreboard.TiesShared}[n/4],
		}
		scores, subscores := make(map[scoreboard.UserID]int64), make(map[scoreboard.UserID]*scoreboard.Score)
		name := func(user scoreboard.UserID) scoreboard.UserID { return user + scoreboard.UserID(fmt.Sprint("-", n)) }
		for i := range best {
			b := &best[i]
			score, second := scoreboard.Score(b.score), scoreboard.Score(b.subscore)
			if order == scoreboard.OrderLowest {
				score = 10 - score
			}
			if subscore == scoreboard.OrderLowest {
				second = -second
			}
			scores[name(b.user)], subscores[name(b.user)] = int64(score), &second
		}
		id := cupOf(t, s, board, scores,
			func(user scoreboard.UserID) *scoreboard.Score { return subscores[user] })
		for i := range best {
			at := len(best) - i // the last of the order was there first
			if best[i].user == "c" {
				at-- // when h was, who has the same pair
			}
			conn.Do(t, `update scores set reached_at = '2020-01-01'::timestamptz + $2::integer * interval '1 second'
where user_id = $1 and board_id = $3`, name(best[i].user), at, id)
		}
		closed, err := s.Boards.FindBoard(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		conn.Do(t, `update boards set period_end = clock_timestamp() where board_id = $1`, id)
		if err := s.Boards.CloseBoard(t.Context(), closed); err != nil {
			t.Fatal(err)
		}
		interrupted := errors.New("interrupted")
		for copied, call := 0, 0; copied < len(best); call++ {
			asked := 0
			n, err := s.Boards.CopyStandings(t.Context(), id, 1+n%3, func(context.Context) error {
				if asked++; asked > 2 { // once to look where to go on, once for a chunk
					return interrupted
				}
				return nil
			})
			if copied += n; err != nil && !errors.Is(err, interrupted) || call > len(best) {
				t.Fatalf("board %d: copied %d, %v", n, copied, err)
			}
		}
		if sealed, err := s.Boards.SealStandings(t.Context(), id); err != nil || !sealed {
			t.Fatalf("board %d: sealed %t, %v, want sealed at once", n, sealed, err)
		}
		_, rows, err := s.Boards.FinalStandings(t.Context(), id, 0, 100)
		if err != nil || len(rows) != len(best) {
			t.Fatalf("board %d: %d rows, %v, want %d", n, len(rows), err, len(best))
		}
		for i, row := range rows {
			rank := best[i].rank
			if board.SharesRanks() {
				rank = best[i].shared
			}
			if user := name(best[i].user); row.User != user || row.Rank != rank || row.Ordinal != best[i].rank ||
				int64(row.Score) != scores[user] || row.Subscore != *subscores[user] {
				t.Errorf("board %d, row %d: got %+v, want %s at %d with %d, %d", n, i, row, user, rank, scores[user],
					*subscores[user])
			}
		}
	}
}
