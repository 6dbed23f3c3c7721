package loadgen

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// Progress is the state of a run. Rates are those since the last report of
// progress; latencies are those of the run so far, in milliseconds.
type Progress struct {
	Elapsed, Length  time.Duration
	Target, Achieved float64 // requests per second
	report.State
	record.Tick
}

func (r *run) hit(h record.Hit) {
	r.builder.Hit(r.file.Hit(h))
}

// sample keeps a sample until it is recorded. It is called from several
// goroutines.
func (r *run) sample(where string, at time.Time, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if took < 0 { // the clocks differ, and the duration is unknown
		r.early++
		return
	}
	r.samples = append(r.samples, pending{where, at, took})
}

// recordSamples records the samples that arrived.
func (r *run) recordSamples() {
	r.mu.Lock()
	samples := r.samples
	r.samples = nil
	r.mu.Unlock()
	for _, p := range samples {
		s := record.Sample{Where: p.where, At: max(p.at.Sub(r.start), 0), Took: p.took}
		r.builder.Sample(s)
		r.file.Sample(s)
	}
}

// second records the state of the server and reports the progress.
func (r *run) second(elapsed time.Duration) error {
	r.recordSamples()
	r.mu.Lock()
	tick := r.server
	r.mu.Unlock()
	tick.At = elapsed
	r.builder.Tick(tick)
	r.file.Tick(tick)
	now := r.builder.Now()
	requests := r.Plan.Requests()
	span := (elapsed - r.last.Elapsed).Seconds()
	p := Progress{
		Elapsed: elapsed, Length: requests.Duration(), State: now, Tick: tick,
		Target:   float64(requests.Count(elapsed)-requests.Count(r.last.Elapsed)) / span,
		Achieved: float64(now.Sent-r.last.Sent) / span,
	}
	r.last = p
	r.Show(p)
	return r.file.Err()
}

// watchBacklog reads the server's backlog once a second.
func (r *run) watchBacklog(ctx context.Context) {
	for retry.Sleep(ctx, time.Second) {
		var tick record.Tick
		r.backlog(ctx, &tick)
		r.mu.Lock()
		r.server = tick
		r.mu.Unlock()
	}
}
