package ledger

import (
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Standing is a score with its subscore and when it was reached. Exists is false if no event
// counts.
type Standing struct {
	scoreboard.Pair
	Exists    bool
	ReachedAt time.Time
	Metadata  scoreboard.Metadata // of the submission that made it
}

// FoldRow is a ledger row of one user on one board, as a Fold reads it.
type FoldRow struct {
	Event    [16]byte
	Delta    int64
	Subscore scoreboard.Score // that the event submitted
	Admin    bool             // its source
	Action   string
	At       time.Time
	Version  int64
	Before   scoreboard.Score // the score before the row
	// SubscoreBefore is the subscore before the row; 0 without one.
	SubscoreBefore scoreboard.Score

	Existed  bool // whether Before exists
	Reversed bool // whether a reversal of the event is in force
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
		f.to.Pair, f.to.Exists = scoreboard.Pair{Score: row.Before, Subscore: row.SubscoreBefore}, row.Existed
		if f.now != nil && f.now.ReachedAt.Before(row.At) { // an archived submission has made it
			f.to.Metadata = f.now.Metadata
		}
	}
	f.begun = true
	reversed := row.Reversed
	if off, changed := f.changes[EventKey{f.user, row.Event, row.Admin}]; changed {
		reversed = off
	}
	submitted := row.submitted()
	if reversed || !submitted && row.Action != ActionAdjust {
		return
	}
	next := row.after(f.board, &f.to)
	moved := !f.to.Exists || next != f.to.Pair
	if moved {
		f.to.ReachedAt = row.At.UTC()
	}
	if submitted {
		f.to.Metadata = f.board.MetadataAfter(f.to.Metadata, row.Metadata, moved)
	}
	f.to.Pair, f.to.Exists = next, true
}

// after returns the pair after a row that counts: an adjustment is added in every mode.
func (r *FoldRow) after(board *scoreboard.Board, before *Standing) scoreboard.Pair {
	of := scoreboard.Pair{Score: scoreboard.Score(r.Delta), Subscore: r.Subscore}
	if !r.submitted() {
		return before.Sum(of)
	}
	return board.PairAfter(before.Pair, before.Exists, of)
}

// submitted reports whether a row is of a submission; others are corrections.
func (r *FoldRow) submitted() bool { return !r.Admin || r.Action == ActionImport }

// Standing is the result of the rows added so far.
func (f *Fold) Standing() Standing { return f.to }
