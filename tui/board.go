package tui

import (
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// row is an entry with its recent changes.
type row struct {
	client.Entry
	previousRank  int64 // before the last move; 0: not shown
	previousScore int64 // before the last change
	gap           int64 // to the row above, in points
	moved         time.Time
	changed       time.Time
	trend         trend
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
	before := make(map[string]*row, len(b.rows))
	for i := range b.rows {
		before[b.rows[i].UserID] = &b.rows[i]
	}
	rows := make([]row, len(entries))
	var changes []change
	for i, e := range entries {
		r := row{Entry: e, previousRank: e.Rank, previousScore: e.Score}
		if i > 0 {
			r.gap = distance(entries[i-1].Score, e.Score)
		}
		old, known := before[e.UserID]
		delete(before, e.UserID)
		switch {
		case known:
			r.previousRank, r.previousScore, r.trend = old.previousRank, old.previousScore, old.trend
			r.moved, r.changed = old.moved, old.changed
			if old.Rank != e.Rank {
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
			r.previousRank, r.moved = 0, now
			changes = append(changes, change{
				user: e.UserID, name: e.DisplayName, rank: e.Rank, score: e.Score, appeared: true,
			})
		}
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

// reset removes the rows, so that the next state counts as the first.
func (b *board) reset() { *b = board{} }

func distance(a, b int64) int64 { return max(a, b) - min(a, b) }
