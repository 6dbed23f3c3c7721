package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// event is what the reports need of a CloudEvent.
type event struct {
	Type string    `json:"type"`
	Time time.Time `json:"time"`
	Data struct {
		Schema   int    `json:"schema"`
		Board    string `json:"board"`
		User     string `json:"user_id"`
		Score    int64  `json:"score"`
		Delta    int64  `json:"delta"`
		Revision int64  `json:"revision"`
		Hidden   bool   `json:"hidden"`
	} `json:"data"`
}

type key struct{ board, user string }

// standing is a user's last known state on a board.
type standing struct {
	score, revision, gained int64
	hidden                  bool
}

// dayKey is a day in UTC on a board.
type dayKey struct{ board, day string }

type day struct {
	users           map[string]bool
	changes, points int64
}

type report struct {
	changes   int
	standings map[key]*standing
	days      map[dayKey]*day
}

func newReport() *report {
	return &report{standings: make(map[key]*standing), days: make(map[dayKey]*day)}
}

// add takes a change into the report. Changes arrive at least once, and an old one can
// arrive after a newer one: only a greater revision is newer.
func (r *report) add(e *event) {
	if e.Type != "com.github.scoreboard.score.changed" || e.Data.Schema != 1 {
		return // of a later version
	}
	k := key{e.Data.Board, e.Data.User}
	s := r.standings[k]
	if s == nil {
		s = new(standing)
		r.standings[k] = s
	}
	if e.Data.Revision <= s.revision {
		return
	}
	r.changes++
	s.score, s.revision, s.hidden = e.Data.Score, e.Data.Revision, e.Data.Hidden
	s.gained += e.Data.Delta
	at := dayKey{e.Data.Board, e.Time.UTC().Format(time.DateOnly)}
	d := r.days[at]
	if d == nil {
		d = &day{users: make(map[string]bool)}
		r.days[at] = d
	}
	d.users[e.Data.User] = true
	d.changes++
	d.points += e.Data.Delta
}

// movers is how many users movers.csv lists for a board.
const movers = 20

// write replaces the files in a folder, which it creates if it is missing.
func (r *report) write(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	for name, rows := range map[string][][]string{
		"daily.csv": r.daily(), "movers.csv": r.movers(), "scores.csv": r.scores(),
	} {
		if err := writeCSV(filepath.Join(dir, name), rows); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

func writeCSV(path string, rows [][]string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	if err := w.WriteAll(rows); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

func (r *report) daily() [][]string {
	rows := [][]string{{"board", "day", "active_users", "changes", "points"}}
	for at, d := range r.days {
		rows = append(rows, []string{
			at.board, at.day, strconv.Itoa(len(d.users)), number(d.changes), number(d.points),
		})
	}
	slices.SortFunc(rows[1:], slices.Compare)
	return rows
}

// movers lists, for each board, the users who gained most since the first change that
// Kafka has.
func (r *report) movers() [][]string {
	boards := make(map[string][]key)
	for k, s := range r.standings {
		if !s.hidden {
			boards[k.board] = append(boards[k.board], k)
		}
	}
	rows := [][]string{{"board", "user_id", "gained", "score"}}
	for board, users := range boards {
		slices.SortFunc(users, func(a, b key) int {
			return cmp.Or(cmp.Compare(r.standings[b].gained, r.standings[a].gained), cmp.Compare(a.user, b.user))
		})
		for _, k := range users[:min(movers, len(users))] {
			rows = append(rows, []string{board, k.user, number(r.standings[k].gained), number(r.standings[k].score)})
		}
	}
	slices.SortStableFunc(rows[1:], func(a, b []string) int { return cmp.Compare(a[0], b[0]) })
	return rows
}

// scores counts, for each board, the users by powers of ten of their score.
func (r *report) scores() [][]string {
	type bucket struct {
		board string
		from  int64
	}
	counts := make(map[bucket]int)
	for k, s := range r.standings {
		if s.hidden {
			continue
		}
		from := int64(0)
		for size := int64(1); s.score >= size; size *= 10 {
			from = size
		}
		if s.score < 0 {
			from = -1
		}
		counts[bucket{k.board, from}]++
	}
	keys := make([]bucket, 0, len(counts))
	for b := range counts {
		keys = append(keys, b)
	}
	slices.SortFunc(keys, func(a, b bucket) int {
		return cmp.Or(cmp.Compare(a.board, b.board), cmp.Compare(a.from, b.from))
	})
	rows := [][]string{{"board", "score_from", "score_below", "users"}}
	for _, b := range keys {
		from, below := number(b.from), number(10*b.from)
		switch b.from {
		case -1:
			from, below = "", "0"
		case 0:
			below = "1"
		}
		rows = append(rows, []string{b.board, from, below, strconv.Itoa(counts[b])})
	}
	return rows
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
