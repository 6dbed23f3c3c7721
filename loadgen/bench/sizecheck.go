package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/internal/sizing"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// tolerance is by how much the simulation may be off.
const tolerance = 0.20

// laneShares are the rates of SizeCheck, relative to a closed loop of 64 connections. Near that rate
// the machine is full, and a pause of half a second decides the percentiles.
var laneShares = []float64{0.1, 0.2, 0.35, 0.5, 0.65}

// SizeCheck compares the simulation of package sizing with measured latencies at five rates. At each
// rate one run measures the transactions and what surrounds them, from which the latency is simulated;
// a second run measures the latency. It is an error if they differ by more than the tolerance.
func SizeCheck(ctx context.Context, o Options) error {
	r, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer r.stop()
	if _, err := r.post(ctx, 64, r.warm/3); err != nil {
		return err
	}
	c, rate, err := r.calibrate(ctx)
	if err != nil {
		return err
	}
	r.printf("A transaction of one increment took %s, each further one %s more; ranks and answers %s.\n"+
		"Closed loop of 64 connections: %.0f/s.\n\n", c.first, c.each, c.answer, rate)
	r.println("| rate/s | in a transaction | transaction ms | around ms | p50 ms simulated / measured " +
		"| p95 ms simulated / measured | off by |")
	r.println("|---|---|---|---|---|---|---|")
	off := 0.0
	for _, share := range laneShares {
		worst, err := r.checkRate(ctx, c, max(int(rate*share), 20))
		if err != nil {
			return err
		}
		off = max(off, worst)
	}
	if err := r.check(ctx); err != nil {
		return err
	}
	r.printf("\nThe simulation was off by at most %.0f %%; at most %.0f %% is required.\n", 100*off, 100*tolerance)
	if off > tolerance && !o.Quick {
		return errors.New("the simulation does not reproduce the measured latencies")
	}
	return nil
}

// calibration is what does not depend on the rate: the times of an idle machine.
type calibration struct {
	first, each time.Duration
	answer      time.Duration // from the commit to the answer: ranks
}

// calibrate measures transactions of one increment and of many, and returns the rate of the many.
func (r *rig) calibrate(ctx context.Context) (c calibration, rate float64, err error) {
	alone, _, err := r.loopFlow(ctx, 1, r.timed/3)
	if err != nil {
		return c, 0, err
	}
	many, rate, err := r.loopFlow(ctx, 64, r.timed/3)
	if err != nil {
		return c, 0, err
	}
	c.first, c.answer = alone.commit.mean(), max(alone.ingest.mean()-alone.commit.mean(), 0)
	if more := many.batch() - alone.batch(); more > 0 {
		c.each = max(time.Duration(float64(many.commit.mean()-c.first)/more), 0)
	}
	return c, rate, nil
}

// loopFlow runs a closed loop and returns what the daemon measured meanwhile.
func (r *rig) loopFlow(ctx context.Context, connections int, d time.Duration) (f laneFlow, rate float64, err error) {
	before, err := r.laneTotals(ctx)
	if err != nil {
		return f, 0, err
	}
	w, err := r.post(ctx, connections, d)
	if err != nil {
		return f, 0, err
	}
	f, err = r.flowSince(ctx, before)
	return f, float64(w.requests) / w.took.Seconds(), err
}

// checkRate prints the line of a rate and returns by how much the simulation was off.
func (r *rig) checkRate(ctx context.Context, c calibration, rate int) (off float64, err error) {
	before, err := r.laneTotals(ctx)
	if err != nil {
		return 0, err
	}
	trial, err := r.load(ctx, rate, r.timed*2/3)
	if err != nil {
		return 0, err
	}
	flow, err := r.flowSince(ctx, before)
	if err != nil {
		return 0, err
	}
	measured, err := r.load(ctx, rate, r.timed)
	if err != nil {
		return 0, err
	}
	lane := c.lane(&flow, trial)
	const increments = 100_000
	simulated := sizing.Simulate(float64(rate), increments, &lane)
	for _, pair := range [][2]float64{
		{inMS(simulated.P50), measured.Latency.P50}, {inMS(simulated.P95), measured.Latency.P95},
	} {
		off = max(off, math.Abs(pair[0]/pair[1]-1))
	}
	r.printf("| %d | %.1f | %.2f | %.2f | %.2f / %.2f | %.2f / %.2f | %.0f %% |\n",
		rate, flow.batch(), inMS(flow.commit.mean()), inMS(lane.Around[len(lane.Around)/2]),
		inMS(simulated.P50), measured.Latency.P50, inMS(simulated.P95), measured.Latency.P95, 100*off)
	return off, nil
}

// lane is the lane of a rate: its transactions take what they took in the trial. How long the ranks
// take grows as the transactions do, because both wait for the same two cores.
func (c *calibration) lane(flow *laneFlow, trial *report.Report) sizing.Lane {
	more := time.Duration(math.Max(flow.batch()-1, 0) * float64(c.each))
	slower := float64(flow.commit.mean()) / float64(c.first+more)
	lane := sizing.Lane{
		First: max(flow.commit.mean()-more, flow.commit.mean()/10), Each: c.each, Batch: 500,
		Spread: flow.commit.spread(),
	}
	// The generator is late, the client and the server take their time over HTTP, and then the ranks.
	server := flow.request.mean() - flow.ingest.mean()
	client := time.Duration(trial.Service.P50*float64(time.Millisecond)) - flow.request.quantile(0.5)
	rest := max(server, 0) + max(client, 0) + time.Duration(slower*float64(c.answer))
	lane.Around = around(lateness(&trial.Late), rest)
	return lane
}

// around is the distribution of a lateness and of a random time with a mean, together.
func around(late sizing.Distribution, mean time.Duration) sizing.Distribution {
	const draws = 2000
	rng := rand.New(rand.NewPCG(1, draws))
	sums := make(sizing.Distribution, draws)
	for i := range sums {
		sums[i] = late[rng.IntN(len(late))] + time.Duration(rng.ExpFloat64()*float64(mean))
	}
	slices.Sort(sums)
	return sums
}

// lateness is a distribution from its percentiles: a value for each of a thousand.
func lateness(l *report.Latency) sizing.Distribution {
	known := [][2]float64{{0, 0}, {0.5, l.P50}, {0.9, l.P90}, {0.95, l.P95}, {0.99, l.P99}, {1, l.P999}}
	d := make(sizing.Distribution, 1000)
	for i := range d {
		q := float64(i) / float64(len(d))
		for k := 1; k < len(known); k++ {
			if low, high := known[k-1], known[k]; q < high[0] {
				ms := low[1] + (q-low[0])/(high[0]-low[0])*(high[1]-low[1])
				d[i] = time.Duration(ms * float64(time.Millisecond))
				break
			}
		}
	}
	return d
}

func inMS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// laneFlow is what the daemon measured in a time.
type laneFlow struct{ commit, ingest, request histogram }

// batch is the mean number of increments in a transaction.
func (f *laneFlow) batch() float64 {
	return float64(f.ingest.count) / math.Max(float64(f.commit.count), 1)
}

func (r *rig) flowSince(ctx context.Context, before laneFlow) (f laneFlow, err error) {
	now, err := r.laneTotals(ctx)
	if err != nil {
		return f, err
	}
	f = laneFlow{now.commit.since(before.commit), now.ingest.since(before.ingest), now.request.since(before.request)}
	if f.commit.count == 0 || f.ingest.count == 0 || f.request.count == 0 {
		return f, fmt.Errorf("the daemon measured %d transactions and %d increments", f.commit.count, f.ingest.count)
	}
	return f, nil
}
