package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/record"
)

// shard is the record of one of two generators, with n hits that took took each.
func shard(t *testing.T, no, n int, took time.Duration, began time.Time, measured record.Measured) *bytes.Reader {
	t.Helper()
	var out bytes.Buffer
	w, err := record.NewWriter(&out, record.Header{
		Began: began, Duration: 10 * time.Second, Shard: record.Shard{No: no, Of: 2},
		Scheduled: []uint64{uint64(n), 0, 0, 0, 0, 0, 0, 0, 0, 0},
		Checks: []record.Check{
			{Text: "increments.rate >= 80", Source: "A"},
			{Text: "lost == 0", Source: "A"},
			{Text: "top.correct == 100%", Source: "A"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		w.Hit(record.Hit{N: 1, Scheduled: time.Duration(i) * time.Millisecond, Service: took, Status: 200})
	}
	if err := w.Close(record.Ending{Lasted: 10 * time.Second, Measured: measured}); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(out.Bytes())
}

// Percentiles are computed from all hits, not from the percentiles of the shards.
func TestShardsAreMerged(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	one := func(m record.Measured) *bytes.Reader { return shard(t, 1, 940, time.Millisecond, at, m) }
	two := func(m record.Measured) *bytes.Reader { return shard(t, 2, 60, time.Second, at.Add(2*time.Second), m) }
	good := record.Measured{"lost": 0, "top.correct": 100}
	r, _, err := Make(two(good), one(good))
	if err != nil {
		t.Fatal(err)
	}
	if r.Latency.P95 < 990 || r.Latency.P90 > 1.1 || r.Latency.N != 1000 || r.Scheduled != 1000 ||
		r.Seconds != 12 || r.Shards != "2 of 2" || r.Verdict != Passed || r.Began != at {
		t.Errorf("got %+v", r)
	}
	if len(r.Notes) != 1 || r.Notes[0] != "the generators started 2s apart; rates are over the time of all of them" {
		t.Errorf("got the notes %q", r.Notes)
	}
	if r.Timeline[0].Target != 940 || r.Timeline[2].Target != 60 || r.Timeline[2].Sent != 60 {
		t.Errorf("got the timeline %+v", r.Timeline)
	}
	lossy := record.Measured{"lost": 2, "top.correct": 100}
	for name, c := range map[string]struct {
		mine, other record.Measured
		verdict     string
		lost        float64
	}{
		"losses add up":       {lossy, record.Measured{"lost": 3, "top.correct": 100}, Failed, 5},
		"the other loses":     {good, lossy, Failed, 2},
		"worst share":         {good, record.Measured{"lost": 0, "top.correct": 50}, Failed, 0},
		"not measured by one": {good, record.Measured{"top.correct": 100}, Failed, -1},
		"nothing lost":        {good, good, Passed, 0},
	} {
		r, _, err := Make(one(c.mine), two(c.other))
		if err != nil {
			t.Fatal(err)
		}
		lost, known := r.Measured["lost"]
		if r.Verdict != c.verdict || known != (c.lost >= 0) || known && lost != c.lost {
			t.Errorf("%s: got %s, lost %v %v", name, r.Verdict, lost, known)
		}
	}
	half, _, err := Make(one(good))
	if err != nil {
		t.Fatal(err)
	}
	if half.Verdict != Scaled || half.Criteria[0].Limit != ">= 40" || half.Shards != "1 of 2" {
		t.Errorf("one of two: got %s with %+v", half.Verdict, half.Criteria)
	}
	if _, _, err := Make(one(good), one(good)); err == nil || !strings.Contains(err.Error(), "duplicate shard") {
		t.Errorf("got %v", err)
	}
	if _, _, err := Make(one(good), recorded(t)); err == nil {
		t.Error("a shard and a whole run were combined")
	}
}
