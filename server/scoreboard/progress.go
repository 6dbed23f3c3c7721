package scoreboard

import "time"

// Progress is how far a copy of the data has come.
type Progress struct {
	// AsOf is the time before which every committed change is in the copy; zero if unknown.
	AsOf time.Time
	// ID identifies the history of the data. It is in the data, and so comes to replicas
	// with them.
	ID string
	// Replica is whether the copy follows another one. A replica that was promoted does not.
	Replica bool
}

// ProgressCheck returns an error if an answer must not be used that was read from a copy of
// the data with this progress. A source of answers calls it in the snapshot of each answer.
type ProgressCheck func(Progress) error
