package report

import (
	"time"

	"github.com/scoreboard/scoreboard/loadgen/record"
)

// The verdicts of a report. Scaled means that all criteria were met by a run that
// required less than the full scenario or that ended early, which proves less.
// Undecidable means that only criteria were missed that the machine cannot meet.
const (
	Passed      = "passed"
	Failed      = "failed"
	Scaled      = "scaled"
	Undecidable = "undecidable"
)

// Report is the result of a run. It is written as report.json.
type Report struct {
	Verdict    string         `json:"verdict"`
	Comparison *Comparison    `json:"comparison,omitempty"` // with another run
	Profile    string         `json:"profile,omitempty"`
	Criteria   []Criterion    `json:"criteria"`
	LeftOut    []Criterion    `json:"left_out,omitempty"` // deliberately not measured, so the run cannot pass
	Began      time.Time      `json:"began"`
	Seconds    float64        `json:"seconds"` // of traffic
	Cut        bool           `json:"cut"`     // ended early
	Parameters map[string]any `json:"parameters"`
	Machine    record.Machine `json:"machine"`

	Scheduled uint64  `json:"scheduled"` // requests
	Sent      uint64  `json:"sent"`      // by the end; the generator was behind by the rest
	Succeeded uint64  `json:"succeeded"`
	CutOff    uint64  `json:"cut_off,omitempty"` // without awaiting the response, on purpose
	Shards    string  `json:"shards,omitempty"`  // how many of the generators are included
	Rate      float64 `json:"rate"`              // increments per second with the required response
	ReadsRate float64 `json:"reads_rate"`        // the same for reads

	// Latency of increments runs from their scheduled times, as users would see it.
	// Service runs from sending; it does not include the wait for a free connection
	// to a stalled server. Late is that wait alone.
	Latency Latency `json:"latency_from_due_ms"`
	Service Latency `json:"latency_service_ms"`
	Late    Latency `json:"late_ms"`
	Reads   Latency `json:"reads_from_due_ms"`
	// Freshness runs from the commit of an increment until it is visible.
	Freshness map[string]Latency `json:"freshness_ms"`

	Statuses map[string]uint64  `json:"statuses"`
	Errors   []Count            `json:"errors"`
	Measured map[string]float64 `json:"measured"` // by the names of criteria
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

// Count is the number of occurrences of an error.
type Count struct {
	What string `json:"what"`
	N    uint64 `json:"n"`
}

// Criterion is a measured value and its limit. Durations are in milliseconds,
// shares in percent. Measured is null if nothing was measured, which never passes.
type Criterion struct {
	Name     string   `json:"name"`
	Source   string   `json:"source"`
	Limit    string   `json:"limit"`
	Measured *float64 `json:"measured"`
	Peak     *float64 `json:"peak,omitempty"` // of the rate of increments: the highest mean over ten seconds
	Pass     bool     `json:"pass"`
	Skipped  string   `json:"skipped,omitempty"` // why it was not measured
	Machine  *float64 `json:"machine,omitempty"` // of a rate: what the machine gives at all, if that was measured
	// Undecidable is why a missed criterion says nothing about the server.
	Undecidable string `json:"undecidable,omitempty"`
	Where       string `json:"where,omitempty"` // of a missed one: in which part of the run
	shown       string
	spark       string // the run in columns; "" if Where is
}

// Shown formats the measured value and its limit.
func (c *Criterion) Shown() string { return c.Name + " " + c.shown + " " + c.shownLimit() }

// Slice is an interval of the run.
type Slice struct {
	At          float64 `json:"at"`     // seconds since the start
	Target      float64 `json:"target"` // requests per second
	Sent        float64 `json:"sent"`
	Errors      float64 `json:"errors"`
	P50         float64 `json:"p50"` // of the increments scheduled in it, in milliseconds
	P95         float64 `json:"p95"`
	P99         float64 `json:"p99"`
	OutboxDepth int64   `json:"outbox_depth"`
	OldestMS    int64   `json:"oldest_ms"`
	Lag         int64   `json:"lag"`   // records to be consumed
	Redis       float64 `json:"redis"` // worst freshness, in milliseconds
	Client      float64 `json:"client"`
	good        float64 // increments per second with the required response, as Report.Rate
}
