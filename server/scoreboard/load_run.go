package scoreboard

import "time"

// LoadRun is an uploaded report of a load test.
type LoadRun struct {
	ID       int64
	Uploaded time.Time
	Verdict  string // passed, failed or scaled
	Profile  string // of criteria; "" for none
	Version  string // of the server or the generator that the report names
	Began    time.Time
	Seconds  float64 // of traffic
	Rate     float64 // increments per second
	P95, P99 float64 // latency of increments, in milliseconds
	Report   []byte  // JSON; nil in lists
}

// MaxLoadRuns is the number of reports that are kept: an upload deletes the oldest beyond.
const MaxLoadRuns = 200
