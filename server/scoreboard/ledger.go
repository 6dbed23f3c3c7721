package scoreboard

import (
	"time"
)

// StatementQuery selects a page of a user's ledger rows, newest first.
type StatementQuery struct {
	User  UserID
	Board BoardID // a board, or a family with all its instances; empty: all
	From  time.Time
	To    time.Time         // exclusive; a zero From or To is unbounded
	After StatementPosition // the last row of the page before; zero for the first page
	Limit int
}

// StatementPosition is the position of a row in a statement.
type StatementPosition struct {
	RecordedAt time.Time
	Board      BoardID
	Version    int64
}

// LedgerRow is one event on one board.
type LedgerRow struct {
	Event    EventID
	Kind     EventKind
	Board    BoardID
	Delta    int64
	Previous *Score
	Score    Score
	// Subscore is the submitted one, NewSubscore the user's after it; 0 on a board without subscores.
	Subscore, NewSubscore Score
	Version               int64
	RecordedAt            time.Time
	Action                string
	KeyID                 string
	Address               string
	Agent                 string
	Metadata              Metadata
}

// Position returns the position of the row in a statement.
func (r *LedgerRow) Position() StatementPosition {
	return StatementPosition{r.RecordedAt, r.Board, r.Version}
}

// Statement is a page of ledger rows.
type Statement struct {
	Rows []LedgerRow
	More bool
	// ArchivedBefore is set on the last page if older rows of the user were moved
	// to the archive.
	ArchivedBefore time.Time
	// AsOf is set if a replica answered: everything recorded before it is included.
	AsOf time.Time
}

// LedgerSum is a stored score with the sum of its ledger rows.
type LedgerSum struct {
	Change         // the score; Revision 0: none
	Rows     int64 // of the ledger
	First    int64 // lowest version
	Last     int64 // highest version
	Expected int64 // the score before the first row plus all applied amounts
	// ExpectedSubscore is likewise that of the subscore.
	ExpectedSubscore int64
	Archived         bool // the score is older than the remaining ledger
	// Uncounted is that of the score, and Corrections what it must be if no row is archived: rows that are no
	// attempts, and events of clients that are reversed.
	Uncounted, Corrections int64
}

// Partition is a partition of the ledger table.
type Partition struct {
	Name     string
	From, To time.Time
	Attached bool // still part of the ledger table
}
