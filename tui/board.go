package tui

import (
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// row is an entry with what changed about it.
type row struct {
	client.Entry
	previousRank  int64 // before the last move, 0 for one that was not shown
	previousScore int64 // before the last change
	gap           int64 // to the row above, in points
	moved         time.Time
	changed       time.Time
	trend         trend
}

// isNew says that the user was not among the rows before.
func (r *row) isNew() bool { return r.previousRank == 0 }

// board remembers the rows shown, to tell what the next state changes.
type board struct {
	rows  []row
	begun bool
}

// change is one line of news: what happened to a user between two states.
type change struct {
	user                       string
	name                       string
	rank, previousRank         int64 // 0 for off the board
	score, previousScore       int64
	appeared, left, scoreMoved bool
	among                      int // of so many shown is who left, 0 where all are shown
}

// update takes the entries of a new state and returns the news in them. The
// first state is no news.
func (b *board) update(entries []client.Entry, now time.Time) []change {
	before := make(map[string]*row, len(b.rows))
	for i := range b.rows {
		before[b.rows[i].UserID] = &b.rows[i]
	}
	rows := make([]row, len(entries))
	var news []change
	for i, e := range entries {
		r := row{Entry: e, previousRank: e.Rank, previousScore: e.Score}
		if i > 0 {
			r.gap = distance(entries[i-1].Score, e.Score)
		}
		old, known := before[e.UserID]
		delete(before, e.UserID)
		switch {
		case known:
			r.previousRank, r.previousScore, r.moved, r.changed, r.trend = old.previousRank, old.previousScore, old.moved, old.changed, old.trend
			if old.Rank != e.Rank {
				r.previousRank, r.moved = old.Rank, now
			}
			if old.Score != e.Score {
				r.previousScore, r.changed = old.Score, now
				r.trend.add(e.Score-old.Score, now)
			}
			if old.Score != e.Score || old.Rank != e.Rank {
				news = append(news, change{
					user: e.UserID, name: e.DisplayName, rank: e.Rank, previousRank: old.Rank,
					score: e.Score, previousScore: old.Score, scoreMoved: old.Score != e.Score,
				})
			}
		case b.begun:
			r.previousRank, r.moved = 0, now
			news = append(news, change{user: e.UserID, name: e.DisplayName, rank: e.Rank, score: e.Score, appeared: true})
		}
		rows[i] = r
	}
	among := 0
	if len(entries) >= len(b.rows) { // others may stand below: who is shown no more may have stayed
		among = len(entries)
	}
	for _, old := range b.rows { // in the order of their ranks, which the map has not
		if _, gone := before[old.UserID]; gone {
			news = append(news, change{user: old.UserID, name: old.DisplayName, previousRank: old.Rank, previousScore: old.Score, left: true, among: among})
		}
	}
	b.rows, b.begun = rows, true
	return news
}

// reset forgets the rows, so that the next state is a first one.
func (b *board) reset() { *b = board{} }

func distance(a, b int64) int64 { return max(a, b) - min(a, b) }
