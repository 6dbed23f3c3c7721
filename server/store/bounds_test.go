package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestModes(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	createBoard(t, conn, "best", "best", "highest", -100, 100)
	createBoard(t, conn, "speed", "best", "lowest", 0, 1000)
	createBoard(t, conn, "latest", "latest", "highest", 0, 1000)
	type step struct {
		board             scoreboard.BoardID
		delta             int64
		score             scoreboard.Score
		applied, revision int64
		previous          *scoreboard.Score
	}
	at := func(s scoreboard.Score) *scoreboard.Score { return &s }
	steps := []step{
		{"best", -3, -3, -3, 1, nil},
		{"best", -5, -3, 0, 1, at(-3)},
		{"best", 7, 7, 10, 2, at(-3)},
		{"speed", 90, 90, 90, 1, nil},
		{"speed", 95, 90, 0, 1, at(90)},
		{"speed", 80, 80, -10, 2, at(90)},
		{"latest", 5, 5, 5, 1, nil},
		{"latest", 0, 0, -5, 2, at(5)},
		{"latest", 0, 0, 0, 2, at(0)},
	}
	for i, want := range steps {
		r := record(t, s, increment("alice", want.delta, fmt.Sprint("e", i), want.board))[0]
		if r.Err != nil {
			t.Fatalf("step %d: %v", i, r.Err)
		}
		got := r.Receipts[0]
		samePrevious := (got.Previous == nil) == (want.previous == nil) &&
			(got.Previous == nil || *got.Previous == *want.previous)
		if got.NewScore != want.score || got.Applied != want.applied || !samePrevious || got.Version != int64(i%3+1) {
			t.Errorf("step %d: got %+v, want %+v", i, got, want)
		}
		if n := conn.Count(t, `select revision from scores where board_id = $1`, want.board); n != want.revision {
			t.Errorf("step %d: revision %d, want %d", i, n, want.revision)
		}
	}
	if n := conn.Count(t, `select count(*) from outbox_score_updates`); n != 6 {
		t.Errorf("outbox rows: got %d, want 6, one for each change", n)
	}
	// reached_at stays when the score does not change.
	if n := conn.Count(t, `select count(*) from scores s join user_score_histories h using (user_id, board_id)
where h.recorded_at = s.reached_at and h.version = case s.board_id when 'latest' then 2 else 3 end`); n != 3 {
		t.Errorf("reached_at is the time of the last change on %d boards, want 3", n)
	}
}

func TestScoreBounds(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	createBoard(t, conn, "wide", "increment", "highest", -scoreboard.MaxScore, scoreboard.MaxScore)
	got := record(t, s, increment("alice", scoreboard.MaxScore, "e1", "wide"), increment("alice", 1, "e2", "wide"),
		increment("alice", -scoreboard.MaxScore, "e3", "wide"), increment("alice", -scoreboard.MaxScore, "e4", "wide"),
		increment("alice", -1, "e5", "wide"))
	codes := []wire.Code{}
	for _, o := range got {
		codes = append(codes, wire.CodeOf(o.Err))
	}
	if want := []wire.Code{
		"",
		wire.CodeScoreOutOfRange,
		"",
		"",
		wire.CodeScoreOutOfRange,
	}; !slices.Equal(
		codes,
		want,
	) {
		t.Errorf("got %q, want %q", codes, want)
	}
	if n := conn.Count(t, `select score from scores`); n != -scoreboard.MaxScore {
		t.Errorf("got %d", n)
	}
}

func TestRejectedInputLeavesNoRow(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	record(t, s, increment("nobody", 5, "e", "nowhere"), increment("greedy", 2_000_000, "e"), increment("zero", 0, "e"))
	for _, table := range []string{"users", "scores", "user_score_histories", "outbox_score_updates"} {
		if n := conn.Count(t, `select count(*) from `+table); n != 0 {
			t.Errorf("%s has %d rows, want 0", table, n)
		}
	}
}

func TestBannedUserIsRejected(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	record(t, s, increment("alice", 5, "e1"))
	conn.Do(t, `update users set status = 'banned' where user_id = 'alice'`)
	if o := record(t, s, increment("alice", 5, "e2"))[0]; wire.CodeOf(o.Err) != wire.CodeForbidden {
		t.Errorf("got %v, want forbidden", o.Err)
	}
}
