package ledger

import (
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Standing is a score and when it was reached. Exists is false if no event
// counts.
type Standing struct {
	Score     scoreboard.Score
	Exists    bool
	ReachedAt time.Time
	Metadata  scoreboard.Metadata // of the submission that made it
}

// FoldRow is a ledger row of one user on one board, as a Fold reads it.
type FoldRow struct {
	Event    [16]byte
	Delta    int64
	Admin    bool // its source
	Action   string
	At       time.Time
	Version  int64
	Before   scoreboard.Score // the score before the row
	Existed  bool             // whether Before exists
	Reversed bool             // whether a reversal of the event is in force
	Metadata scoreboard.Metadata
}

// Fold recomputes a score by applying the submissions in order, without the reversed ones. If
// the oldest rows are archived, it starts from the score before the first remaining row.
type Fold struct {
	user    scoreboard.UserID
	board   *scoreboard.Board
	changes map[EventKey]bool // reversed (true) or restored (false) by this transaction
	to      Standing
	begun   bool
	now     *Score // the present one; nil: unknown
}

// NewFold starts a fold of a user's rows on a board of any mode, from the first one on.
func NewFold(board *scoreboard.Board) *Fold { return &Fold{board: board} }

// NewFold starts a fold of a user's rows on a board. Changes are the events that
// this transaction reverses (true) or restores (false).
func (b *Batch) NewFold(user scoreboard.UserID, board *scoreboard.Board, changes map[EventKey]bool) *Fold {
	now := b.scores[ScoreKey{user, board.ID}]
	return &Fold{user: user, board: board, changes: changes, to: Standing{ReachedAt: now.ReachedAt}, now: now}
}

// Add applies the next row; rows come in the order of versions.
func (f *Fold) Add(row *FoldRow) {
	if !f.begun && row.Version > 1 {
		f.to.Score, f.to.Exists = row.Before, row.Existed
		if f.now != nil && f.now.ReachedAt.Before(row.At) { // an archived submission has made it
			f.to.Metadata = f.now.Metadata
		}
	}
	f.begun = true
	reversed := row.Reversed
	if off, changed := f.changes[EventKey{f.user, row.Event, row.Admin}]; changed {
		reversed = off
	}
	submitted := !row.Admin || row.Action == ActionImport
	if reversed || !submitted && row.Action != ActionAdjust {
		return
	}
	next := f.to.Score + scoreboard.Score(row.Delta)
	if submitted {
		next = f.board.ScoreAfter(f.to.Score, f.to.Exists, row.Delta)
	}
	moved := !f.to.Exists || next != f.to.Score
	if moved {
		f.to.ReachedAt = row.At.UTC()
	}
	if submitted {
		f.to.Metadata = f.board.MetadataAfter(f.to.Metadata, row.Metadata, moved)
	}
	f.to.Score, f.to.Exists = next, true
}

// Standing is the result of the rows added so far.
func (f *Fold) Standing() Standing { return f.to }
