package scoreboard

import (
	"crypto/md5" //nolint:gosec // against accidents only
	"encoding/binary"
	"strconv"
	"time"
)

// Import is what was imported from a board of another system to a board.
type Import struct {
	ID      int64
	Source  string // its name, which the operator chooses
	Board   BoardID
	Users   int64     // that were imported
	Events  int64     // in the ledger
	Started time.Time // when it was started or continued last
	Last    time.Time // when it wrote last
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

// ImportSummary is what a board has of the users that an import has written.
type ImportSummary struct {
	Users  int64    // that the board shows
	Sum    string   // of their scores, which 64 bits may not hold
	Digest uint64   // the sum of ImportDigest over them
	Top    []UserID // the first TopSize of them, best first
	Others int64    // users that the board shows and the import has not written
}

// ImportDigest is a number for a user with a score. The sum over all users of two systems
// is equal if their scores are, in whatever order they are read: the first 8 bytes, big
// endian, of the MD5 of the user, a space and the score, and a space and the subscore unless
// that is 0.
func ImportDigest(user UserID, p Pair) uint64 {
	text := make([]byte, 0, MaxUserIDLength+48)
	text = strconv.AppendInt(append(append(text, user...), ' '), int64(p.Score), 10)
	if p.Subscore != 0 {
		text = strconv.AppendInt(append(text, ' '), int64(p.Subscore), 10)
	}
	sum := md5.Sum(text) //nolint:gosec // against accidents only, and PostgreSQL has it
	return binary.BigEndian.Uint64(sum[:])
}

// MaxImportRecords is the maximum number of records that are imported at once. They are
// one transaction, and the writers of each user wait for it.
const MaxImportRecords = 500

// ImportRecord is a user's score in another system.
type ImportRecord struct {
	User     UserID
	Score    Score
	Subscore *Score   // nil: none, which counts as 0
	Metadata Metadata // of the score; as the other system has it, until it is decoded by the API
}

// Pair returns the score and the subscore.
func (r *ImportRecord) Pair() Pair {
	p := Pair{Score: r.Score}
	if r.Subscore != nil {
		p.Subscore = *r.Subscore
	}
	return p
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
