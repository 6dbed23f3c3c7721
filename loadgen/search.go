package loadgen

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// Try is the result of one rate.
type Try struct {
	Rate    int     `json:"rate"` // target, in increments per second
	Seconds float64 `json:"seconds"`
	Verdict string  `json:"verdict"`
	Missed  string  `json:"missed,omitempty"` // criteria that were missed
	Got     float64 `json:"got"`              // achieved rate, in increments per second
	P95     float64 `json:"p95_ms"`
	P99     float64 `json:"p99_ms"`
}

// Max is the highest sustained rate, and how it was found.
type Max struct {
	Rate   int       `json:"rate"` // 0 if no rate was sustained
	Mode   plan.Mode `json:"mode"`
	Tries  []Try     `json:"tries"`
	Report *Report   `json:"report,omitempty"` // of the run that sustained it for the full duration
}

// Limits of a search.
const (
	tryDuration = 20 * time.Second // unless the plan is shorter
	// precision ends the search once the lowest failed rate is within this share of
	// the highest sustained one.
	precision = 0.04
	maxTries  = 24
	maxDrain  = 2 * time.Minute // before the next try
	// Caches and queues may sustain a rate for a try but not for the full duration.
	// It is then reduced by reduction, up to maxConfirmations times.
	maxConfirmations = 5
	reduction        = 0.08
)

// bisection searches for a rate: it doubles the rate until one fails, and then
// halves the gap.
type bisection struct {
	held, failed int // the highest sustained rate and the lowest failed one; 0 if none
	first        int
}

// next is the rate to try, or 0 at the end of the search.
func (b *bisection) next() int {
	switch {
	case b.held == 0 && b.failed == 0:
		return b.first
	case b.failed == 0:
		return min(2*b.held, plan.MaxRate)
	case b.held == 0:
		return b.failed / 2 // 0 if even 1 per second failed
	case float64(b.failed-b.held) <= precision*float64(b.held) || b.failed-b.held < 2:
		return 0
	}
	return round((b.held + b.failed) / 2)
}

// round keeps three significant digits.
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
		b.failed = 0 // a lower rate failed only because the machine was busy
	}
}

// FindMax searches for the highest rate that a server sustains for the duration of
// the plan, meeting all criteria of the scenario. It starts with the plan's mean
// rate.
func FindMax(ctx context.Context, o Options) (*Max, error) {
	duration := o.Plan.Schedule.Duration()
	found := &Max{Mode: o.Plan.Mode}
	search := &bisection{first: max(int(o.Plan.Schedule.Mean()), 1)}
	for rate := search.next(); rate > 0 && len(found.Tries) < maxTries; rate = search.next() {
		r, err := o.try(ctx, found, rate, min(tryDuration, duration), "")
		if err != nil || r.Cut {
			return found, err
		}
		search.note(rate, r.Verdict != report.Failed)
		if search.held == plan.MaxRate {
			break
		}
	}
	// A try is short. Confirm the rate for the full duration.
	for rate, left := search.held, maxConfirmations; rate > 0 && left > 0; left-- {
		r, err := o.try(ctx, found, rate, duration, o.Out)
		if err != nil || r.Cut {
			return found, err
		}
		if r.Verdict != report.Failed {
			found.Rate, found.Report = rate, r
			break
		}
		rate = round(int(float64(rate) * (1 - reduction)))
	}
	return found, nil
}

// try plays one rate with new users, after the backlog of the previous try is
// empty.
func (o Options) try(ctx context.Context, found *Max, rate int, duration time.Duration, out string) (*Report, error) {
	var err error
	if o.Plan.Schedule, err = plan.ParseSchedule(fmt.Sprint(rate), duration); err != nil {
		return nil, err
	}
	o.prefix = o.Plan.Prefix
	o.Plan.Prefix = fmt.Sprintf("%st%d-", o.Plan.Prefix, len(found.Tries))
	o.Plan.Seed++
	o.Out = out
	if err := o.drain(ctx); err != nil {
		return nil, err
	}
	o.Say("trying %s per second for %v", english.Count(rate, "increment"), duration)
	r, err := Run(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("try %d per second: %w", rate, err)
	}
	t := Try{Rate: rate, Seconds: r.Seconds, Verdict: r.Verdict, Got: r.Rate, P95: r.Latency.P95, P99: r.Latency.P99}
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
		o.Say("%d per second: sustained, p95 %.1f ms, p99 %.1f ms", rate, t.P95, t.P99)
	} else {
		o.Say("%d per second: not sustained: %s", rate, t.Missed)
	}
	return r, nil
}

// drain waits until the server has no backlog. A server whose backlog is unknown
// counts as drained.
func (o *Options) drain(ctx context.Context) error {
	s, err := newSession(ctx, o)
	if err != nil {
		return err
	}
	defer s.close()
	for deadline := time.Now().Add(maxDrain); ; {
		var t record.Tick
		known := s.backlog(ctx, &t)
		if !known || t.OutboxDepth == 0 && t.Lag == 0 {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the backlog did not drain within %v: %s in the outbox, %s to consume",
				maxDrain, english.Count(t.OutboxDepth, "row"), english.Count(t.Lag, "record"))
		}
		if !retry.Sleep(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
	}
}
