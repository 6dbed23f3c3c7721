package loadgen

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// Progress is how a run goes. Rates are those since the last look, latencies
// those of the run so far, in milliseconds.
type Progress struct {
	Elapsed, Lasts  time.Duration
	Asked, Answered float64 // requests a second
	report.State
	record.Tick
}

func (r *run) hit(h record.Hit) {
	r.builder.Hit(h)
	r.file.Hit(h)
}

// sample keeps a sample until it can be recorded; the pulse has many hands.
func (r *run) sample(where string, at time.Time, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if took < 0 { // two clocks: what it says about the time between is nothing
		r.ahead++
		return
	}
	r.samples = append(r.samples, pending{where, at, took})
}

// place records the samples that came.
func (r *run) place() {
	r.mu.Lock()
	samples := r.samples
	r.samples = nil
	r.mu.Unlock()
	for _, p := range samples {
		s := toSample(p.where, r.began, p.at, p.took)
		r.builder.Sample(s)
		r.file.Sample(s)
	}
}

// every records how the server is and says how it goes.
func (r *run) every(elapsed time.Duration) error {
	r.place()
	r.mu.Lock()
	tick := r.server
	r.mu.Unlock()
	tick.At = elapsed
	r.builder.Tick(tick)
	r.file.Tick(tick)
	now := r.builder.Now()
	due := r.Plan.requests()
	span := (elapsed - r.last.Elapsed).Seconds()
	p := Progress{
		Elapsed: elapsed, Lasts: due.Duration(), State: now, Tick: tick,
		Asked: float64(due.Expected(elapsed)-due.Expected(r.last.Elapsed)) / span, Answered: float64(now.Sent-r.last.Sent) / span,
	}
	r.last = p
	r.Show(p)
	return r.file.Err()
}

// watchServer asks once a second what waits in the server.
func (r *run) watchServer(ctx context.Context) {
	for pause(ctx, time.Second) {
		var tick record.Tick
		r.look(ctx, &tick)
		r.mu.Lock()
		r.server = tick
		r.mu.Unlock()
	}
}

// sumOf adds up a metric over its labels.
func sumOf(text, metric string) (sum int64) {
	for line := range bytes.Lines([]byte(text)) {
		rest, ours := bytes.CutPrefix(line, []byte(metric))
		if !ours || len(rest) == 0 || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		fields := bytes.Fields(rest)
		if v, err := strconv.ParseFloat(string(fields[len(fields)-1]), 64); err == nil {
			sum += int64(v)
		}
	}
	return sum
}
