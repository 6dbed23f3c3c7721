package history_test

import (
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// timeline reads all of a timeline, in as many parts as it takes.
func (w *world) timeline(board scoreboard.BoardID, at scoreboard.PastTime, times []time.Time, limit int) (
	frames []scoreboard.Frame, parts int,
) {
	w.t.Helper()
	b := modes[board]
	b.ID, b.Family, b.Created = board, board, time.Now().Add(-time.Hour)
	for len(times) > 0 {
		next, covered, err := w.s.PastBoards.Timeline(w.t.Context(), &b, at, times, limit)
		if err != nil {
			w.t.Fatal(err)
		}
		if covered < 1 || covered > len(times) || !next[0].At.Equal(times[0]) {
			w.t.Fatalf("the timeline of %s covers %d of %d times from %v, want some from %v",
				board, covered, len(times), next[0].At, times[0])
		}
		frames, times = append(frames, next...), times[covered:]
		parts++
	}
	return frames, parts
}

// checkTimeline compares a timeline with what was shown at each moment.
func (w *world) checkTimeline(board scoreboard.BoardID, asNow bool, at []shown, limit int) (parts int) {
	w.t.Helper()
	var times []time.Time
	for _, s := range at {
		times = append(times, s.at)
	}
	frames, parts := w.timeline(board, scoreboard.PastTime{Now: asNow}, times, limit)
	var current scoreboard.Frame
	repeats := 0
	for i, s := range at {
		lines := s.lines
		if asNow {
			lines = w.today(board, s.at)
		}
		same := false
		if len(frames) > 0 && frames[0].At.Equal(s.at) {
			same = i > 0 && slices.Equal(frames[0].Entries, current.Entries)
			current, frames = frames[0], frames[1:]
			if int(current.Total) != len(lines) {
				w.t.Fatalf("%s at %v: %d users, want %d", board, s.at, current.Total, len(lines))
			}
		}
		if same {
			repeats++
		}
		var got []string
		for j, e := range current.Entries {
			got = append(got, lineOf(e.User, e.Score, e.Subscore))
			if e.Rank != rank(board, got, j) {
				w.t.Fatalf("%s at %v: %s has rank %d, want %d", board, s.at, e.User, e.Rank, rank(board, got, j))
			}
		}
		if want := lines[:min(limit, len(lines))]; !slices.Equal(got, want) {
			w.t.Fatalf("%s at %v, as now %t, %d of %d, the first %d:\n got %v\nwant %v", board, s.at, asNow, i, len(at),
				limit, got, want)
		}
	}
	if len(frames) > 0 || repeats >= parts {
		w.t.Fatalf("%d frames are at no time, and %d in %d parts repeat the one before", len(frames), repeats, parts)
	}
	return parts
}

// some returns a board, and some of what it showed.
func (w *world) some() (board scoreboard.BoardID, at []shown) {
	board = w.boards[w.rng.IntN(len(w.boards))]
	for _, s := range w.shown {
		if s.board == board && w.rng.IntN(3) == 0 {
			at = append(at, s)
		}
	}
	return board, at[w.rng.IntN(len(at)):]
}

// A timeline shows at each of its times what the board showed then, and has no frame where nothing
// changed.
func TestTimelineIsWhatWasShown(t *testing.T) {
	t.Parallel()
	for name, calm := range map[string]bool{"all users": false, "few users": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.calm = calm
			for range 250 {
				w.step()
			}
			for range 100 {
				board, at := w.some()
				w.checkTimeline(board, w.rng.IntN(2) == 0, at, 1+w.rng.IntN(16))
			}
		})
	}
}

// sqlMostEvents is how many events the read of one moment needs at most.
const sqlMostEvents = `select max(n) from (select (
    select count(*) from user_score_histories as h where h.board_id = r.board_id and h.recorded_at <= r.recorded_at
    and h.recorded_at > coalesce((select max(at) from checkpoints as c
        where c.board_id = r.board_id and complete and at <= r.recorded_at), '-infinity')
) as n from user_score_histories as r) as counts`

// A read that may need few events covers a part of the times, and the next one goes on.
func TestTimelineInParts(t *testing.T) {
	t.Parallel()
	for range 3 { // in some histories no timeline needs more than one part
		w := newWorld(t)
		for range 150 {
			w.step()
		}
		w.s.PastBoards.SetMaxEvents(int(w.conn.Count(t, sqlMostEvents)))
		largest := 0
		for range 40 {
			board, at := w.some()
			largest = max(largest, w.checkTimeline(board, false, at, 3))
		}
		if largest > 1 {
			return
		}
	}
	t.Error("no timeline has more than one part")
}
