package loadgen

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/pace"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// Try is one rate that was tried.
type Try struct {
	Rate    int     `json:"rate"` // increments a second that were asked
	Seconds float64 `json:"seconds"`
	Verdict string  `json:"verdict"`
	Missed  string  `json:"missed,omitempty"` // the criteria that were not met
	Got     float64 `json:"got"`              // increments a second that were answered
	P95     float64 `json:"p95_ms"`
	P99     float64 `json:"p99_ms"`
}

// Max is the highest rate that was held, and how it was found.
type Max struct {
	Rate   int     `json:"rate"` // 0 where none was
	Mode   Mode    `json:"mode"`
	Tries  []Try   `json:"tries"`
	Report *Report `json:"report,omitempty"` // of the run that held it for its whole time
}

// The bounds of a search.
const (
	probeTime = 20 * time.Second // of one try, or less where the whole run is shorter
	closeness = 0.04             // a search ends when what failed is so close above what held
	mostTries = 24
	drainFor  = 2 * time.Minute // before the next try
	// What held a try, which caches and queues help over, may not hold the whole
	// run: then it is lowered, a few times.
	confirming = 5
	lowering   = 0.08
)

// bisection narrows a rate down: it doubles until one fails, and then halves the
// gap. It is arithmetic alone.
type bisection struct {
	held, failed int // the highest that held, the lowest that did not; 0 where there is none
	first        int
}

// next is the rate to try, 0 when the gap is closed.
func (b *bisection) next() int {
	switch {
	case b.held == 0 && b.failed == 0:
		return b.first
	case b.failed == 0:
		return min(2*b.held, pace.MaxRate)
	case b.held == 0:
		return b.failed / 2 // 0 when not even one a second holds
	case float64(b.failed-b.held) <= closeness*float64(b.held) || b.failed-b.held < 2:
		return 0
	}
	return round((b.held + b.failed) / 2)
}

// round drops digits that mean nothing.
func round(rate int) int {
	if rate < 1000 {
		return rate
	}
	step := int(math.Pow10(int(math.Log10(float64(rate))) - 2))
	return rate / step * step
}

func (b *bisection) note(rate int, held bool) {
	if held {
		b.held = max(b.held, rate)
	} else if b.failed == 0 || rate < b.failed {
		b.failed = rate
	}
	if b.held >= b.failed && b.failed > 0 {
		b.failed = 0 // what failed below has held since: the machine was busy
	}
}

// FindMax looks for the highest rate that a server holds for as long as the plan
// takes, all criteria of the scenario met. The plan's mean rate is tried first.
func FindMax(ctx context.Context, o Options) (*Max, error) {
	lasts := o.Plan.Pace.Duration()
	found := &Max{Mode: o.Plan.Mode}
	search := &bisection{first: max(int(o.Plan.Pace.Mean()), 1)}
	for rate := search.next(); rate > 0 && rate <= pace.MaxRate && len(found.Tries) < mostTries; rate = search.next() {
		r, err := o.try(ctx, found, rate, min(probeTime, lasts), "")
		if err != nil || r.Cut {
			return found, err
		}
		search.note(rate, r.Verdict != report.Failed)
		if search.held == pace.MaxRate {
			break
		}
	}
	// A try is short. The rate counts that holds for the whole time.
	for rate, left := search.held, confirming; rate > 0 && left > 0; left-- {
		r, err := o.try(ctx, found, rate, lasts, o.Out)
		if err != nil || r.Cut {
			return found, err
		}
		if r.Verdict != report.Failed {
			found.Rate, found.Report = rate, r
			break
		}
		rate = round(int(float64(rate) * (1 - lowering)))
	}
	return found, nil
}

// try plays one rate with users of its own, once what came before is through.
func (o Options) try(ctx context.Context, found *Max, rate int, lasts time.Duration, out string) (*Report, error) {
	var err error
	if o.Plan.Pace, err = pace.Parse(fmt.Sprint(rate), lasts); err != nil {
		return nil, err
	}
	o.Plan.Prefix = fmt.Sprintf("%st%d-", o.Plan.Prefix, len(found.Tries))
	o.Plan.Seed++
	o.Out = out
	if err := o.drain(ctx); err != nil {
		return nil, err
	}
	o.Say("trying %d increments a second for %v", rate, lasts)
	r, err := Run(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("try %d a second: %w", rate, err)
	}
	t := Try{Rate: rate, Seconds: r.Seconds, Verdict: r.Verdict, Got: r.Rate, P95: r.FromDue.P95, P99: r.FromDue.P99}
	for _, c := range r.Criteria {
		if !c.Pass {
			if t.Missed != "" {
				t.Missed += ", "
			}
			t.Missed += c.Shown()
		}
	}
	found.Tries = append(found.Tries, t)
	if t.Missed == "" {
		o.Say("%d a second: held, p95 %.1f ms, p99 %.1f ms", rate, t.P95, t.P99)
	} else {
		o.Say("%d a second: not held: %s", rate, t.Missed)
	}
	return r, nil
}

// drain waits until the server has nothing left of the try before. Where it
// does not say, that is taken to be so after a while.
func (o *Options) drain(ctx context.Context) error {
	s, err := newSession(ctx, o)
	if err != nil {
		return err
	}
	defer s.close()
	for deadline := time.Now().Add(drainFor); ; {
		var t record.Tick
		known := s.look(ctx, &t)
		if !known || t.OutboxDepth == 0 && t.Lag == 0 {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server has not worked off what came before within %v: %d rows in the outbox, %d records to consume", drainFor, t.OutboxDepth, t.Lag)
		}
		if !pause(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
	}
}
