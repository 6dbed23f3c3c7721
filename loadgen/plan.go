package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// Plan says what a run plays.
type Plan struct {
	Rate     int           // increments a second
	Duration time.Duration // how long they fall due
	Users    int           // user-0000000 and on
	// Skew is how uneven the users are: 0 draws all alike, above 1 it is the
	// exponent of a Zipf distribution.
	Skew float64
	Seed uint64 // of the draw of users and deltas; event ids are always new
}

func (p *Plan) check() error {
	switch {
	case p.Rate < 1 || p.Rate > 1_000_000:
		return errors.New("the rate must be 1 to 1,000,000 a second")
	case p.Duration <= 0:
		return errors.New("the duration must be longer than nothing")
	case p.Users < 1:
		return errors.New("there must be at least one user")
	case p.Skew != 0 && p.Skew <= 1:
		return fmt.Errorf("the skew must be 0 or above 1, not %v", p.Skew)
	}
	return nil
}

// due is when increment n (from 0) is due, from the beginning of the run.
func (p *Plan) due(n uint64) time.Duration {
	rate := uint64(p.Rate)
	return time.Duration(n/rate)*time.Second + time.Duration(n%rate)*time.Second/time.Duration(rate)
}

// expected is how many increments fall due until d.
func (p *Plan) expected(d time.Duration) uint64 {
	d = min(d, p.Duration)
	whole := uint64(d / time.Second)
	part := uint64(d % time.Second)
	return whole*uint64(p.Rate) + part*uint64(p.Rate)/uint64(time.Second)
}

// pacer releases each increment when it is due, and none after the end: what
// could not be sent by then is reported, not made up for.
type pacer struct {
	plan *Plan
	ctx  context.Context // ends the run early; vegeta's own way may let hits through
	// tick is told the time since the beginning before each increment.
	tick func(elapsed time.Duration)
}

var _ vegeta.Pacer = (*pacer)(nil)

// Pace is called once before each increment.
func (p *pacer) Pace(elapsed time.Duration, sent uint64) (wait time.Duration, stop bool) {
	p.tick(elapsed)
	if p.ctx.Err() != nil || sent >= p.plan.expected(p.plan.Duration) || elapsed > p.plan.Duration {
		return 0, true
	}
	return max(p.plan.due(sent)-elapsed, 0), false
}

// Rate is what vegeta reports as the rate asked for.
func (p *pacer) Rate(time.Duration) float64 { return float64(p.plan.Rate) }

// draw gives users and deltas, the same sequence for the same seed.
type draw struct {
	mu   sync.Mutex
	r    *rand.Rand
	zipf *rand.Zipf
	n    int
}

func newDraw(p *Plan) *draw {
	r := rand.New(rand.NewPCG(p.Seed, 0x73636f7265))
	d := &draw{r: r, n: p.Users}
	if p.Skew > 1 {
		d.zipf = rand.NewZipf(r, p.Skew, 1, uint64(p.Users-1))
	}
	return d
}

func (d *draw) next() (user string, delta int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var n uint64
	if d.zipf != nil {
		n = d.zipf.Uint64()
	} else {
		n = d.r.Uint64N(uint64(d.n))
	}
	return userName(n), 1 + d.r.Int64N(100)
}

func userName(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	const width = 7
	if pad := width - len(digits); pad > 0 {
		digits = "0000000"[:pad] + digits
	}
	return "user-" + digits
}
