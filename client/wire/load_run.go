package wire

import (
	"encoding/json"
	"time"
)

// LoadRunRequest is the body of POST /v1/admin/load-runs.
type LoadRunRequest struct {
	Report json.RawMessage `json:"report"` // the report.json of sbctl load run, load report or accept
}

// LoadRun is an uploaded report of a load test. Report is in the response for one load run
// only.
type LoadRun struct {
	LoadRunID  int64           `json:"load_run_id"`       // number of the load run
	UploadedAt time.Time       `json:"uploaded_at"`       // time of the upload
	Verdict    string          `json:"verdict"`           // passed, failed or scaled
	Profile    string          `json:"profile,omitempty"` // name of its criteria
	Version    string          `json:"version,omitempty"` // version that the report names
	BeganAt    time.Time       `json:"began_at"`          // time at which the traffic began
	Seconds    float64         `json:"seconds"`           // duration of the traffic, in seconds
	Rate       float64         `json:"rate"`              // increments per second with the required response
	P95MS      float64         `json:"p95_ms"`            // 95th percentile of the latency, in milliseconds
	P99MS      float64         `json:"p99_ms"`            // 99th percentile of the same, in milliseconds
	Report     json.RawMessage `json:"report,omitempty"`  // the report as it was uploaded
}

// LoadRuns is the response of GET /v1/admin/load-runs, newest first. NextBefore is the
// value of before for the next page.
type LoadRuns struct {
	LoadRuns []LoadRun `json:"load_runs"` // the load runs, newest first
	// Number of the last load run of the page; absent on the last page.
	NextBefore int64 `json:"next_before,omitempty"`
}
