package tui

import (
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// row is an entry with its recent changes.
type row struct {
	client.Entry
	previousRank  int64 // before the last move; 0: not shown
	previousScore int64 // before the last change
	gap           int64 // to the row above, in points
	tied          bool  // with the row above or below
	moved         time.Time
	from          float64 // where the row was when it moved, counted in rows
	changed       time.Time
	trend         trend
	ranks         ranks
}

// isNew reports whether the user was not among the rows before.
func (r *row) isNew() bool { return r.previousRank == 0 }

// board keeps the rows shown, to find the changes in the next state.
type board struct {
	rows  []row
	begun bool
}

// change is a user's change between two states.
type change struct {
	user                       string
	name                       string
	rank, previousRank         int64 // 0: not on the board
	score, previousScore       int64
	appeared, left, scoreMoved bool
	among                      int // if left: the number of rows shown, or 0 if all are shown
}

// update stores the entries of a new state and returns the changes. The first
// state has none.
func (b *board) update(entries []client.Entry, now time.Time) []change {
	before := make(map[string]int, len(b.rows))
	for i := range b.rows {
		before[b.rows[i].UserID] = i
	}
	rows := make([]row, len(entries))
	var changes []change
	for i, e := range entries {
		r := row{Entry: e, previousRank: e.Rank, previousScore: e.Score}
		if i > 0 {
			r.gap = distance(entries[i-1].Score, e.Score)
		}
		r.tied = i > 0 && tied(&entries[i-1], &e) || i+1 < len(entries) && tied(&e, &entries[i+1])
		at, known := before[e.UserID]
		delete(before, e.UserID)
		switch {
		case known:
			old := &b.rows[at]
			r.previousRank, r.previousScore = old.previousRank, old.previousScore
			r.trend, r.ranks = old.trend, old.ranks
			r.moved, r.from, r.changed = old.moved, old.from, old.changed
			if old.Rank != e.Rank {
				r.from = old.position(at, now) // it may still be moving
				r.previousRank, r.moved = old.Rank, now
			}
			if old.Score != e.Score {
				r.previousScore, r.changed = old.Score, now
				r.trend.add(e.Score-old.Score, now)
			}
			if old.Score != e.Score || old.Rank != e.Rank {
				changes = append(changes, change{
					user: e.UserID, name: e.DisplayName, rank: e.Rank, previousRank: old.Rank,
					score: e.Score, previousScore: old.Score, scoreMoved: old.Score != e.Score,
				})
			}
		case b.begun:
			r.previousRank, r.moved, r.from = 0, now, float64(len(entries))
			changes = append(changes, change{
				user: e.UserID, name: e.DisplayName, rank: e.Rank, score: e.Score, appeared: true,
			})
		}
		r.ranks.add(e.Rank, now)
		rows[i] = r
	}
	among := 0
	if len(entries) >= len(b.rows) { // more users may follow: one no longer shown may still be on the board
		among = len(entries)
	}
	for _, old := range b.rows { // by rank
		if _, gone := before[old.UserID]; gone {
			changes = append(changes, change{
				user: old.UserID, name: old.DisplayName, previousRank: old.Rank, previousScore: old.Score,
				left: true, among: among,
			})
		}
	}
	b.rows, b.begun = rows, true
	return changes
}

// tied reports whether two rows have the same score, and the same subscore on a board that has them.
func tied(a, b *client.Entry) bool {
	return a.Score == b.Score && (a.Subscore == nil || b.Subscore == nil || *a.Subscore == *b.Subscore)
}

// subscore is that of a row; "" on a board without subscores.
func subscore(e *client.Entry) string {
	if e.Subscore == nil {
		return ""
	}
	return grouped(*e.Subscore)
}

// scores are both of a row in a sentence.
func scores(e *client.Entry) string {
	if e.Subscore == nil {
		return grouped(e.Score)
	}
	return grouped(e.Score) + " (" + grouped(*e.Subscore) + ")"
}

// reset removes the rows, so that the next state counts as the first.
func (b *board) reset() { *b = board{} }

// find returns the index of a user's row, or -1.
func (b *board) find(user string) int {
	return slices.IndexFunc(b.rows, func(r row) bool { return r.UserID == user })
}

func distance(a, b int64) int64 { return max(a, b) - min(a, b) }
