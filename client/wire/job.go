package wire

import "time"

// Job is a long operation that a node runs or has run. Line is its last line, but for a
// what-if, whose result is in its response only.
type Job struct {
	JobID     int64      `json:"job_id"` // number of the job
	Kind      string     `json:"kind"`   // rebuild, verify, reconcile, replay, what-if, archive or checkpoint
	Target    string     `json:"target"` // what it works on, as in the audit trail
	DryRun    bool       `json:"dry_run,omitempty"`
	State     string     `json:"state"`              // running, done, failed, stopped or lost
	Node      string     `json:"node"`               // name of the node that runs it
	Who       string     `json:"who"`                // user who started it
	Reason    string     `json:"reason,omitempty"`   // the reason that was given
	StartedAt time.Time  `json:"started_at"`         // time of its start
	EndedAt   *time.Time `json:"ended_at,omitempty"` // time of its end; absent while it runs
	Line      *JobLine   `json:"line,omitempty"`     // its progress or, at its end, its result or error
}

// Jobs is the response of GET /v1/admin/jobs, newest first. NextBefore is the value of
// before for the next page.
type Jobs struct {
	Jobs []Job `json:"jobs"` // the jobs, newest first
	// Number of the last job of the page; absent on the last page.
	NextBefore int64 `json:"next_before,omitempty"`
}
