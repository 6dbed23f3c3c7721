package history_test

import (
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// An explanation agrees with the scores: the sources add up, and rank, neighbours, ties and
// banned users ahead are those of the table.
func TestExplanationsAddUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ranked := func() (lines int) {
		for _, board := range w.boards {
			lines += len(w.lines(board))
		}
		return lines
	}
	const want = 10
	for steps := 0; steps < 200 || ranked() < want; steps++ { // many users can be hidden at a time
		w.step()
	}
	explained := 0
	for _, board := range w.boards {
		lines := w.lines(board)
		b := modes[board]
		b.ID, b.Family = board, board
		for i, line := range lines {
			var user scoreboard.UserID
			var score, subscore scoreboard.Score
			scanLine(t, line, &user, &score, &subscore)
			e, err := w.s.PastBoards.Explain(t.Context(), &b, user, 3)
			if err != nil {
				t.Fatal(err)
			}
			s := e.Sources
			sum := s.Submitted + s.Adjusted + s.Reversed + s.Reinstated + s.Imported + s.Archived
			if e.Place.Score != score || e.Place.Subscore != subscore || sum != score ||
				e.Place.Rank != rank(board, lines, i) {
				t.Errorf("%s on %s: got %+v and %+v, want %d points from all sources and rank %d", user, board, e.Place,
					s, score, rank(board, lines, i))
			}
			var tied, ahead int64
			for j, other := range lines {
				var name scoreboard.UserID
				var points, sub scoreboard.Score
				scanLine(t, other, &name, &points, &sub)
				if points == score && sub == subscore {
					if tied++; j < i {
						ahead++
					}
					if tied == 1 && e.First.User != name {
						t.Errorf("%s on %s: %s is first of the tie, want %s", user, board, e.First.User, name)
					}
				}
				for _, n := range []struct {
					got  *scoreboard.Neighbour
					at   int
					what string
				}{{e.Above, i - 1, "above"}, {e.Below, i + 1, "below"}} {
					if n.at == j && (n.got == nil || n.got.User != name ||
						n.got.Score != points || n.got.Subscore != sub ||
						n.got.Rank != rank(board, lines, j)) {
						t.Errorf("%s on %s: %s is %+v, want %s", user, board, n.what, n.got, other)
					}
				}
			}
			if e.Tied != tied || e.Ahead != ahead {
				t.Errorf("%s on %s: got %d tied, %d ahead, want %d and %d", user, board, e.Tied, e.Ahead, tied, ahead)
			}
			hidden := w.bannedAhead(board, user)
			if e.HiddenAhead != hidden {
				t.Errorf("%s on %s: got %d hidden ahead, want %d", user, board, e.HiddenAhead, hidden)
			}
			rows := w.conn.Count(t, `select count(*) from user_score_histories where user_id = $1 and board_id = $2`,
				user, board)
			if e.Events != rows || len(e.Latest) != min(int(rows), 3) || e.More != (rows > 3) {
				t.Errorf("%s on %s: got %d events, %d of them, want %d", user, board, e.Events, len(e.Latest), rows)
			}
			explained++
		}
	}
	if explained < want {
		t.Errorf("%d ranks were explained, want more", explained)
	}
}

// bannedAhead counts the banned users who would be ahead of a user. Private users leave no trace.
func (w *world) bannedAhead(board scoreboard.BoardID, user scoreboard.UserID) (n int64) {
	w.t.Helper()
	var banned []string
	for u, yes := range w.banned {
		if yes && !w.private[u] && !w.erased[u] {
			banned = append(banned, string(u))
		}
	}
	if err := w.conn.QueryRow(w.t.Context(), `select count(*) from scores as s, scores as own where s.board_id = $1
and s.user_id = any($3) and not s.empty and own.board_id = $1 and own.user_id = $2
and case when $4 then (s.order_key, s.sub_key) < (own.order_key, own.sub_key)
    else (s.order_key, s.sub_key, s.reached_at, s.user_id) < (own.order_key, own.sub_key, own.reached_at, own.user_id)
    end`,
		board, user, banned, modes[board].Ties != "").Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// For those who may not see banned users, a past board leaves out who is banned now, as it
// leaves out erased users; the ranks behind close up.
func TestBannedUsersAreMasked(t *testing.T) {
	t.Parallel()
	s, _ := storetest.New(t)
	for i, user := range []scoreboard.UserID{"ada", "mallory", "bob"} {
		submit(t, s, user, int64(9-i), "global")
	}
	at := now(t, s)
	if _, err := s.Moderation.Ban(t.Context(), "mallory", because("user.ban")); err != nil {
		t.Fatal(err)
	}
	for masked, want := range map[bool]int64{false: 3, true: 2} {
		m := scoreboard.PastTime{At: at, Masked: masked}
		place, err := s.PastBoards.Place(t.Context(), &global, m, "bob", 0)
		if err != nil || place.Rank != want || place.Total != want {
			t.Errorf("masked %t: got %+v, %v, want rank %d of %[4]d", masked, place, err, want)
		}
		_, err = s.PastBoards.Place(t.Context(), &global, m, "mallory", 0)
		if masked != (wire.CodeOf(err) == wire.CodeNotFound) {
			t.Errorf("masked %t: mallory is %v", masked, err)
		}
		points, err := s.PastBoards.History(t.Context(), &global, m, "bob", []time.Time{at})
		if err != nil || points[0].Rank != want || points[0].Total != want {
			t.Errorf("masked %t: got the points %+v, %v, want rank %d", masked, points, err, want)
		}
	}
}

func scanLine(t *testing.T, line string, user *scoreboard.UserID, score, subscore *scoreboard.Score) {
	t.Helper()
	name, pair, _ := strings.Cut(line, " ")
	*user = scoreboard.UserID(name)
	scanPair(t, pair, score, subscore)
}
