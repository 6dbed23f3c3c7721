package migrations

import (
	"context"
	"database/sql"
	"fmt"
)

// baseline is the number of the first migration of 1.0.0. Builds before it numbered theirs from
// 1 to 104 and support databases up to 299, so neither takes the database of the other for its own.
const baseline = 1000

// EarlierBuildError is the error of a database of a build before 1.0.0, which cannot be upgraded.
type EarlierBuildError struct {
	Number int64 // of the newest migration of that build
}

func (e *EarlierBuildError) Error() string {
	return e.Detail() + ": " + e.nextStep()
}

// Detail is the message without what to do.
func (e *EarlierBuildError) Detail() string {
	return fmt.Sprintf("the database is at migration %d of a build before 1.0.0, which cannot be upgraded", e.Number)
}

func (e *EarlierBuildError) nextStep() string {
	return `use an empty database; to keep scores, run that build's "sbctl export board" first, ` +
		`then "sbctl import csv"`
}

// refuseEarlierBuild returns an EarlierBuildError if a build before 1.0.0 has migrated the database.
func refuseEarlierBuild(ctx context.Context, db *sql.DB) error {
	var migrated bool
	const look = `select to_regclass('goose_db_version') is not null`
	if err := db.QueryRowContext(ctx, look).Scan(&migrated); err != nil {
		return fmt.Errorf("look for applied migrations: %w", err)
	}
	if !migrated {
		return nil
	}
	var number int64
	const newest = `select coalesce(max(version_id), 0) from goose_db_version where version_id between 1 and $1`
	if err := db.QueryRowContext(ctx, newest, baseline-1).Scan(&number); err != nil {
		return fmt.Errorf("read the applied migrations: %w", err)
	}
	if number > 0 {
		return &EarlierBuildError{number}
	}
	return nil
}
