package scoreboard

import "time"

// StatementQuery asks for a page of what the ledger has of a user, newest
// first.
type StatementQuery struct {
	User  UserID
	Board BoardID // of one board, or of all instances of a family; all when empty
	From  time.Time
	To    time.Time         // exclusive; zero is without end, as From is without beginning
	After StatementPosition // the last row of the page before; zero for the first page
	Limit int
}

// StatementPosition is where a row stands in a statement.
type StatementPosition struct {
	RecordedAt time.Time
	Board      BoardID
	Version    int64
}

// LedgerRow is one event on one board, as the ledger has it.
type LedgerRow struct {
	Event      EventID
	Board      BoardID
	Delta      int64
	Previous   *Score
	Score      Score
	Version    int64
	RecordedAt time.Time
	Action     string
	KeyID      string
	Address    string
	Agent      string
}

// Position is where the row stands in a statement.
func (r *LedgerRow) Position() StatementPosition {
	return StatementPosition{r.RecordedAt, r.Board, r.Version}
}

// Statement is a page of it.
type Statement struct {
	Rows []LedgerRow
	More bool
	// ArchivedBefore is set on the last page where older rows of the user are
	// in the archive and no longer in the ledger.
	ArchivedBefore time.Time
}
