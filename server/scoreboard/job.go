package scoreboard

import "time"

// Job is a long operation that some node runs or has run for an operator.
type Job struct {
	ID      int64
	Kind    string // rebuild, verify, reconcile, replay, what-if or archive
	Target  string // as in the audit trail
	DryRun  bool
	Node    string // that runs it
	Who     UserID
	Reason  string
	Started time.Time
	Ended   time.Time // zero while it runs
	State   string
	Line    []byte // the last line of its response, as JSON; nil for none
}

// States of jobs.
const (
	JobRunning = "running"
	JobDone    = "done"
	JobFailed  = "failed"
	JobStopped = "stopped"
	JobLost    = "lost" // its node has ended, or cannot reach the database
)

// MaxJobs is the number of jobs that are kept: a new one deletes the oldest beyond.
const MaxJobs = 200
