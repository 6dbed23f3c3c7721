package migrations

import "fmt"

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
