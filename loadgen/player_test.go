package loadgen

import (
	"context"
	"net/http"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
	"github.com/scoreboard/scoreboard/loadgen/verify"
)

// Requests are released at their scheduled times, and none after the end.
func TestPacer(t *testing.T) {
	t.Parallel()
	schedule, err := plan.ParseSchedule("10/1s,100/1s", 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended, end := context.WithCancel(t.Context())
	end()
	defer cancel()
	ms := time.Millisecond
	for name, c := range map[string]struct {
		ctx     context.Context
		elapsed time.Duration
		sent    uint64
		wait    time.Duration
		stop    bool
	}{
		"the first":               {ctx, 0, 0, 0, false},
		"before its time":         {ctx, 0, 1, 100 * ms, false},
		"shortly before its time": {ctx, 99*ms + 900*time.Microsecond, 1, minWait, false},
		"at its time":             {ctx, 100 * ms, 1, 0, false},
		"late":                    {ctx, 900 * ms, 1, 0, false},
		"in the burst":            {ctx, time.Second, 11, 10 * ms, false},
		"late at the end":         {ctx, 2 * time.Second, 50, 0, false},
		"late after the end":      {ctx, 2*time.Second + 1, 50, 0, true},
		"all sent":                {ctx, 1500 * ms, 110, 0, true},
		"run ended early":         {ended, 100 * ms, 1, 0, true},
		"run ended at the start":  {ended, 0, 1, 0, true},
		"last, shortly before":    {ctx, 1980 * ms, 109, 10 * ms, false},
	} {
		p := &pacer{schedule, c.ctx, func(time.Duration) {}}
		if wait, stop := p.Pace(c.elapsed, c.sent); wait != c.wait || stop != c.stop {
			t.Errorf("%s: got %v, %v; want %v, %v", name, wait, stop, c.wait, c.stop)
		}
	}
}

func TestResponsesBecomeHits(t *testing.T) {
	t.Parallel()
	o := load(t, "", "10/10s", func(p *plan.Plan) { p.Reads = 1 })
	const write, read = 1, 2 // numbers of requests
	ms := time.Millisecond
	for name, c := range map[string]struct {
		n    uint64
		res  vegeta.Result
		sent time.Duration
		want record.Hit
	}{
		"read": {read, vegeta.Result{Code: 200}, 100 * ms, record.Hit{Kind: record.Read, Status: 200}},
		"late read": {
			read,
			vegeta.Result{Code: 200},
			130 * ms,
			record.Hit{Kind: record.Read, Status: 200, Late: 30 * ms},
		},
		"unknown user": {
			read,
			vegeta.Result{Code: 404, Error: "404 Not Found", Body: []byte(`{"error_code":"not_found"}`)},
			100 * ms,
			record.Hit{Kind: record.Read, Status: 404},
		},
		"unknown path": {
			read,
			vegeta.Result{Code: 404, Error: "404 Not Found"},
			100 * ms,
			record.Hit{Kind: record.Read, Status: 404, Problem: "404 Not Found"},
		},
		"failed read": {
			read,
			vegeta.Result{Code: 500, Error: "500 Internal Server Error"},
			100 * ms,
			record.Hit{Kind: record.Read, Status: 500, Problem: "500 Internal Server Error"},
		},
		"truncated response": {
			read,
			vegeta.Result{Code: 200, Error: "read x: unexpected EOF"},
			100 * ms,
			record.Hit{Kind: record.Read, Problem: "unexpected EOF"},
		},
		"write without a response": {
			write,
			vegeta.Result{Error: `Get "x": read tcp 1->2: i/o timeout`},
			60 * ms,
			record.Hit{Kind: record.Increment, Late: 10 * ms, Problem: "i/o timeout"},
		},
		"cut write": {
			write,
			vegeta.Result{Error: `Get "x": ` + errCut.Error()},
			50 * ms,
			record.Hit{Kind: record.Increment},
		},
		"rejected write": {
			write,
			vegeta.Result{Code: 422, Error: "422", Body: []byte(`{"error_code":"rule_violated"}`)},
			50 * ms,
			record.Hit{Kind: record.Increment, Status: 422, Problem: "422 rule_violated"},
		},
	} {
		var got []record.Hit
		p := &player{
			plan: &o.Plan, requests: o.Plan.Requests(), events: plan.NewEvents(&o.Plan, time.Now()),
			tracker: verify.NewTracker(&o.Plan), onAck: func(plan.Event) {},
			onHit: func(h record.Hit) { got = append(got, h) },
		}
		c.res.Seq, c.res.Latency = c.n, 7*ms
		c.want.N, c.want.Scheduled, c.want.Service = 1, time.Duration(c.n)*50*ms, 7*ms
		p.observe(&c.res, c.sent)
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// Without a scenario, a load is checked for samples, errors and its rate.
func TestDefaultChecks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scheduled, sent, failed int
		want                    string
	}{
		"all sent":              {1000, 1000, 0, report.Passed},
		"behind by one percent": {1000, 990, 0, report.Passed},
		"behind by more":        {1000, 989, 0, report.Failed},
		"9 of 1000 failed":      {1000, 1000, 9, report.Passed},
		"one percent failed":    {1000, 1000, 10, report.Failed},
		"nothing scheduled":     {0, 0, 0, report.Failed},
	} {
		b := report.NewBuilder(record.Header{
			Checks: defaultChecks, Scheduled: []uint64{uint64(c.scheduled)}, Duration: time.Second,
		})
		for i := range c.sent {
			h := record.Hit{N: 1, Scheduled: time.Duration(i) * time.Millisecond, Status: http.StatusOK}
			if i < c.failed {
				h.Problem = "it broke"
			}
			b.Hit(h)
		}
		b.Ending(record.Ending{Lasted: time.Second})
		r, err := b.Report()
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != c.want {
			t.Errorf("%s: got %s: %+v", name, r.Verdict, r.Criteria)
		}
	}
}
