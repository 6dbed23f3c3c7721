package wire

import "time"

// ImportRequest is the body of POST /v1/admin/imports. Source names the board in the other
// system: what is imported from the same source to the same board is what has changed. A
// dry run only shows what was imported.
type ImportRequest struct {
	Source string `json:"source"`          // 1 to 128 of the characters A-Z a-z 0-9 . _ : @ and -
	Board  string `json:"board,omitempty"` // name of the board; global by default
	DryRun bool   `json:"dry_run,omitempty"`
}

// Import is what was imported from a source to a board.
type Import struct {
	ImportID int64  `json:"import_id,omitempty"` // absent if nothing was imported
	Source   string `json:"source"`              // name of the board in the other system
	Board    string `json:"board"`               // the board, or the period that scores count in
	Users    int64  `json:"users"`               // number of users that were imported
	Events   int64  `json:"events"`              // number of events in the ledger
	// Time at which the import was started or continued last; absent if nothing was imported.
	StartedAt *time.Time `json:"started_at,omitempty"`
	LastAt    *time.Time `json:"last_at,omitempty"` // time at which it wrote last
}

// Imports is the response of GET /v1/admin/imports, newest first. NextBefore is the value of
// before for the next page.
type Imports struct {
	Imports []Import `json:"imports"` // the imports, newest first
	// Number of the last import of the page; absent on the last page.
	NextBefore int64 `json:"next_before,omitempty"`
}

// ImportSummary is what a board has of the users that an import has written, to compare it
// with the other system.
type ImportSummary struct {
	Board string `json:"board"` // the board, or the period that scores count in
	Users int64  `json:"users"` // number of imported users on the board
	Sum   string `json:"sum"`   // sum of their scores, in decimal
	// Digest is, in decimal, the sum modulo 2^64 over the imported users: of each the first 8 bytes, big endian, of
	// the MD5 of the user id, a space and the score.
	Digest string   `json:"digest"`
	Top    []string `json:"top"`    // the first 100 of them, best first
	Others int64    `json:"others"` // number of users on the board that were not imported
}

// ImportRecord is a user's score in the other system.
type ImportRecord struct {
	UserID string `json:"user_id"`
	Score  int64  `json:"score"` // the total there, in points
	// What the score says about itself: an object of at most 1 KiB, for boards that keep metadata. It is written with
	// the score, if that has changed.
	Metadata Object `json:"metadata,omitempty"`
	// What decides among equal scores there, for boards that have subscores.
	Subscore *int64 `json:"subscore,omitempty"`
}

// ImportRecords is the body of POST /v1/admin/imports/{id}/records: up to 500 records of
// different users, in the order in which equal scores rank.
type ImportRecords struct {
	Records []ImportRecord `json:"records"` // up to 500 records, at least one
}

// ImportedRecords is the response of POST /v1/admin/imports/{id}/records.
type ImportedRecords struct {
	Written   int              `json:"written"`   // number of events that were recorded
	Unchanged int              `json:"unchanged"` // number of scores that were imported before
	Rejected  []RejectedRecord `json:"rejected"`  // the records that were not written
}

// RejectedRecord is a record that was not written.
type RejectedRecord struct {
	UserID string `json:"user_id"`
	Error  Error  `json:"error"` // why it was not written
}
