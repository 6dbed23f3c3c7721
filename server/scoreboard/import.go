package scoreboard

// Import is what was imported from a board of another system to a board.
type Import struct {
	ID     int64
	Source string // its name, which the operator chooses
	Board  BoardID
	Users  int64 // that were imported
	Events int64 // in the ledger
}

// MaxSourceLength is the longest name of a source, in bytes.
const MaxSourceLength = 128

// CheckSource accepts the name of a source: 1 to 128 of A-Z a-z 0-9 . _ : @ -.
func CheckSource(s string) error {
	if !isName(s, MaxSourceLength) {
		return Invalid("source", "source must be 1 to %d characters of A-Z a-z 0-9 . _ : @ -", MaxSourceLength)
	}
	return nil
}

// MaxImportRecords is the maximum number of records that are imported at once. They are
// one transaction, and the writers of each user wait for it.
const MaxImportRecords = 500

// ImportRecord is a user's score in another system.
type ImportRecord struct {
	User  UserID
	Score Score
}

// ImportOutcome is what became of records.
type ImportOutcome struct {
	Written   int
	Unchanged int // the import has written the same score before
	Rejected  []RejectedRecord
}

// RejectedRecord is a record that cannot be imported.
type RejectedRecord struct {
	User UserID
	Err  error
}
