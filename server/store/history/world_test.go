package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// board returns a board as the catalog has it.
func (w *world) board(id scoreboard.BoardID) *scoreboard.Board {
	b := modes[id]
	b.ID, b.Family = id, id
	if err := w.conn.QueryRow(w.t.Context(), `select created_at from boards where board_id = $1`, id).
		Scan(&b.Created); err != nil {
		w.t.Fatal(err)
	}
	return &b
}

// withoutErased leaves out the lines of users who are erased by now.
func (w *world) withoutErased(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		user, _, _ := strings.Cut(line, " ")
		return w.erased[scoreboard.UserID(user)]
	})
}

func (w *world) reversible(e *submitted) bool {
	return !e.reversed && !e.imported && !e.archived && !w.erased[e.user] && !w.ended[e.board]
}

// importScore imports a total, and reads from the ledger which event this became.
func (w *world) importScore(user scoreboard.UserID, board scoreboard.BoardID) {
	w.t.Helper()
	if w.ended[board] {
		return
	}
	i, err := w.s.Imports.StartImport(w.t.Context(), "elsewhere", board, because("import.start"))
	if err != nil {
		w.t.Fatal(err)
	}
	records := []scoreboard.ImportRecord{{
		User: user, Score: scoreboard.Score(1 + w.rng.IntN(12)), Subscore: w.subscore(board),
	}}
	out, err := w.s.Imports.WriteImport(w.t.Context(), i.ID, records, because("import.records"))
	if err != nil {
		w.t.Fatal(err)
	}
	if out.Written == 0 {
		return // unchanged, or the user is banned or erased
	}
	e := &submitted{user: user, board: board, imported: true}
	if err := w.conn.QueryRow(w.t.Context(), `select delta, coalesce(subscore, 0), recorded_at from user_score_histories
where user_id = $1 and board_id = $2 and action = 'import' order by version desc limit 1`, user, board).
		Scan(&e.delta, &e.sub, &e.at); err != nil {
		w.t.Fatal(err)
	}
	w.events = append(w.events, e)
}

// void reverses all events of a key of the last steps.
func (w *world) void() {
	w.t.Helper()
	if len(w.events) == 0 {
		return
	}
	key, from := fmt.Sprintf("k%d", w.rng.IntN(5)), w.events[max(0, len(w.events)-30)].at
	v := voided{}
	for _, e := range w.events {
		if e.key == key && !e.at.Before(from) && w.reversible(e) {
			v.events = append(v.events, e)
		}
	}
	if len(v.events) == 0 {
		return
	}
	created, err := w.s.Corrections.CreateVoid(w.t.Context(), scoreboard.Sender{
		KeyID: key, From: from, To: time.Now().Add(time.Minute),
	}, because("void.create"))
	if err != nil {
		w.t.Fatal(err)
	}
	v.id = created.ID
	runVoids(w.t, w.s, w.conn)
	for _, e := range v.events {
		e.reversed = true
	}
	w.voids = append(w.voids, v)
}

// undo has the events of a void count again.
func (w *world) undo() {
	w.t.Helper()
	i := w.rng.IntN(len(w.voids))
	v := w.voids[i]
	w.voids = slices.Delete(w.voids, i, i+1)
	if slices.ContainsFunc(v.events, func(e *submitted) bool {
		return e.archived || w.erased[e.user] || w.ended[e.board]
	}) {
		return
	}
	if _, err := w.s.Corrections.UndoVoid(w.t.Context(), v.id, because("void.undo")); err != nil {
		w.t.Fatal(err)
	}
	runVoids(w.t, w.s, w.conn)
	for _, e := range v.events {
		e.reversed = false
	}
}

// hide changes a user's visibility, which changes no standing.
func (w *world) hide(user scoreboard.UserID) {
	w.t.Helper()
	if w.erased[user] {
		return
	}
	to := []scoreboard.Visibility{
		scoreboard.VisibilityPublic, scoreboard.VisibilityFriends, scoreboard.VisibilityPseudonym,
	}[w.rng.IntN(3)]
	if _, _, err := w.s.Visibility.Put(w.t.Context(), user, to, because("user.privacy")); err != nil {
		w.t.Fatal(err)
	}
	w.private[user] = false
}

// end ends a board as the end of its period does, but never the first two.
func (w *world) end() {
	board := w.boards[2+w.rng.IntN(len(w.boards)-2)]
	w.conn.Do(w.t, `update boards set status = 'frozen', closed_at = clock_timestamp()
where board_id = $1 and closed_at is null`, board)
	w.ended[board] = true
}

// erase begins to erase a user, and moves the rows while everything else goes on.
func (w *world) erase() {
	w.t.Helper()
	user := w.events[w.rng.IntN(len(w.events))].user
	if w.erased[user] {
		return
	}
	anonymous, err := w.s.Privacy.BeginErasure(w.t.Context(), user, because("user.erase"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.erased[user] = true
	for rows := int64(1); rows > 0; {
		w.step()
		if rows, err = w.s.Privacy.EraseStep(w.t.Context(), user, anonymous); err != nil {
			w.t.Fatal(err)
		}
	}
}

// runVoids runs all voids to their end, without waiting for events that are tried again.
func runVoids(t *testing.T, s *store.Store, conn *backends.Conn) {
	t.Helper()
	for range 100 {
		v, err := s.Corrections.ClaimVoid(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if v == nil {
			return
		}
		for more := true; more; {
			if more, err = s.Corrections.StepVoid(t.Context(), v, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Corrections.ReleaseVoid(t.Context(), v, nil); err != nil {
			t.Fatal(err)
		}
		conn.Do(t, `update void_events set next_at = '-infinity'`)
		conn.Do(t, `update voids set next_at = '-infinity'`)
	}
	t.Fatal("the voids do not end")
}
