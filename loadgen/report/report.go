package report

import (
	"time"

	"github.com/scoreboard/scoreboard/loadgen/record"
)

// The verdicts of a report. Scaled says that all criteria were met by a run
// that asked for less than they were written for, or that ended before its
// time, which proves less.
const (
	Passed = "passed"
	Failed = "failed"
	Scaled = "scaled"
)

// Report is what a run came to. It is written as report.json.
type Report struct {
	Verdict    string         `json:"verdict"`
	Profile    string         `json:"profile,omitempty"`
	Criteria   []Criterion    `json:"criteria"`
	LeftOut    []Criterion    `json:"left_out,omitempty"` // nobody asked for them to be measured, and so the run cannot pass
	Began      time.Time      `json:"began"`
	Seconds    float64        `json:"seconds"` // of traffic
	Cut        bool           `json:"cut"`     // ended before its time
	Parameters map[string]any `json:"parameters"`
	Machine    record.Machine `json:"machine"`

	Asked     uint64  `json:"asked"` // requests that fell due
	Sent      uint64  `json:"sent"`  // by the end; the rest is what it was behind
	Succeeded uint64  `json:"succeeded"`
	CutOff    uint64  `json:"cut_off,omitempty"` // whose answers were not waited for, on purpose
	Shards    string  `json:"shards,omitempty"`  // how many of how many generators it is about
	Rate      float64 `json:"rate"`              // increments a second that were answered as they had to be
	ReadsRate float64 `json:"reads_rate"`        // the same of reads

	// FromDue is the latency of increments that users would feel; Service
	// leaves out the wait for a free connection, and so a stalled server; Late
	// is that wait alone.
	FromDue Latency `json:"latency_from_due_ms"`
	Service Latency `json:"latency_service_ms"`
	Late    Latency `json:"late_ms"`
	Reads   Latency `json:"reads_from_due_ms"`
	// Freshness is from the commit of an increment to where it is seen.
	Freshness map[string]Latency `json:"freshness_ms"`

	Statuses map[string]uint64  `json:"statuses"`
	Errors   []Count            `json:"errors"`
	Measured map[string]float64 `json:"measured"` // all that criteria can be about
	Notes    []string           `json:"notes,omitempty"`
	Timeline []Slice            `json:"timeline"`
}

// Latency is a distribution in milliseconds.
type Latency struct {
	N     int64   `json:"n"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p99.9"`
	P9999 float64 `json:"p99.99"`
	Max   float64 `json:"max"`
}

// Count is how often something happened.
type Count struct {
	What string `json:"what"`
	N    uint64 `json:"n"`
}

// Criterion is one measured thing against its limit. Times are in
// milliseconds, shares in percent; Measured is null where nothing was measured,
// which never passes.
type Criterion struct {
	Name     string   `json:"name"`
	Source   string   `json:"source"`
	Limit    string   `json:"limit"`
	Measured *float64 `json:"measured"`
	Pass     bool     `json:"pass"`
	Skipped  string   `json:"skipped,omitempty"` // why it was left out
	shown    string
}

// Shown is what was measured against its limit, in words.
func (c *Criterion) Shown() string { return c.Name + " " + c.shown + " " + c.Limit }

// Slice is a stretch of the run.
type Slice struct {
	At          float64 `json:"at"`    // seconds from the beginning
	Asked       float64 `json:"asked"` // requests a second
	Sent        float64 `json:"sent"`
	Errors      float64 `json:"errors"`
	P50         float64 `json:"p50"` // of increments, from due, in milliseconds
	P99         float64 `json:"p99"`
	OutboxDepth int64   `json:"outbox_depth"`
	OldestMS    int64   `json:"oldest_ms"`
	Lag         int64   `json:"lag"`   // records that wait to be consumed
	Redis       float64 `json:"redis"` // the worst freshness, in milliseconds
	Client      float64 `json:"client"`
}
