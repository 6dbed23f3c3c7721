package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/loadgen"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/sizing"
)

// tolerance is by how much the simulation may be off.
const tolerance = 0.20

// laneShares are the rates of SizeCheck, relative to a closed loop of 64 connections. Near that rate
// the machine is full, and a pause of half a second decides the percentiles.
var laneShares = []float64{0.1, 0.2, 0.35, 0.5, 0.65}

// sizeBench compares the lanes of an installation with their simulation.
type sizeBench struct{ *rig }

// SizeCheck compares the simulation of package sizing with measured latencies at five rates. At each
// rate one run measures the transactions and what surrounds them, from which the latency is simulated;
// a second run measures the latency. It is an error if they differ by more than the tolerance.
func SizeCheck(ctx context.Context, o Options) error {
	on, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer on.stop()
	r := sizeBench{on}
	if err := r.warmByPosts(ctx); err != nil {
		return err
	}
	c, rate, err := r.calibrate(ctx)
	if err != nil {
		return err
	}
	r.printf("A transaction of one increment took %s, each further one %s more; ranks and answers %s.\n"+
		"Closed loop of 64 connections: %.0f/s.\n\n", c.first, c.each, c.answer, rate)
	r.println("| rate/s | in a transaction | transaction ms | trial p50 / p95 ms | p50 ms simulated / measured " +
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
func (r sizeBench) calibrate(ctx context.Context) (c calibration, rate float64, err error) {
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
func (r sizeBench) loopFlow(
	ctx context.Context, connections int, d time.Duration,
) (f laneFlow, rate float64, err error) {
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

// checkRate prints the line of a rate and returns by how much the simulation was off. The machine is not
// equally fast all the time, so runs of both kinds alternate.
func (r sizeBench) checkRate(ctx context.Context, c calibration, rate int) (off float64, err error) {
	var trial, measured observed
	for _, to := range []*observed{&trial, &measured, &measured, &trial} {
		if err := r.observe(ctx, rate, to); err != nil { // measured ones, too: observing costs CPU time
			return 0, err
		}
	}
	lane := c.lane(&trial)
	const increments = 200_000
	simulated := sizing.Simulate(float64(rate), increments, &lane)
	for _, pair := range [][2]float64{
		{inMS(simulated.P50), measured.latency(0.5)}, {inMS(simulated.P95), measured.latency(0.95)},
	} {
		off = max(off, math.Abs(pair[0]/pair[1]-1))
	}
	r.printf("| %d | %.1f | %.2f | %.2f / %.2f | %.2f / %.2f | %.2f / %.2f | %.0f %% |\n",
		rate, trial.all.batch(), inMS(trial.all.commit.mean()), trial.latency(0.5), trial.latency(0.95),
		inMS(simulated.P50), measured.latency(0.5), inMS(simulated.P95), measured.latency(0.95), 100*off)
	return off, nil
}

// every is the length of a interval. When this machine is slow, it is slow for some tens of milliseconds,
// such as for a collection of garbage or a write of PostgreSQL.
const every = 50 * time.Millisecond

// observed are runs at a rate, as a whole and interval by interval.
type observed struct {
	all       laneFlow // of the last run
	intervals []interval
	latencies []time.Duration // from the scheduled time to the response
}

// latency is a quantile, in milliseconds.
func (o *observed) latency(q float64) float64 {
	slices.Sort(o.latencies)
	return inMS(o.latencies[int(q*float64(len(o.latencies)-1))])
}

// interval is what happened in a interval of a run.
type interval struct {
	laneFlow
	hits []record.Hit // that were scheduled in it
}

// observe runs a rate, and adds the run to o.
func (r sizeBench) observe(ctx context.Context, rate int, o *observed) error {
	watched, stop := context.WithCancel(ctx)
	defer stop()
	began := time.Now()
	first, err := r.laneTotals(ctx)
	if err != nil {
		return err
	}
	totals := []laneFlow{first}
	failed := make(chan error, 1)
	go func() {
		for {
			next := began.Add(time.Duration(len(totals)) * every)
			select {
			case <-watched.Done():
				failed <- nil
				return
			case <-time.After(time.Until(next)):
			}
			now, err := r.laneTotals(ctx)
			if err != nil {
				failed <- err
				return
			}
			totals = append(totals, now)
		}
	}()
	_, dir, err := r.loadInto(ctx, rate, r.timed)
	stop()
	if err := errors.Join(err, <-failed); err != nil {
		return err
	}
	if o.all, err = r.flowSince(ctx, first); err != nil {
		return err
	}
	intervals := make([]interval, len(totals))
	for i := 1; i < len(totals); i++ {
		intervals[i].laneFlow = totals[i].since(totals[i-1])
	}
	if err := o.read(dir, began, intervals); err != nil {
		return err
	}
	o.intervals = append(o.intervals, intervals...)
	return nil
}

// read assigns the requests of a run to its intervals.
func (o *observed) read(dir string, began time.Time, intervals []interval) error {
	raw, err := os.Open(filepath.Join(dir, loadgen.RawFile))
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	var from time.Duration
	return record.Visit(raw, record.Visitor{
		Header: func(h record.Header) { from = h.Began.Sub(began) },
		Sample: func(record.Sample) {}, Tick: func(record.Tick) {}, Ending: func(record.Ending) {},
		Hit: func(h record.Hit) {
			o.latencies = append(o.latencies, h.Late+h.Service)
			if i := int((from + h.Scheduled) / every); i >= 0 && i < len(intervals) {
				intervals[i].hits = append(intervals[i].hits, h)
			}
		},
	})
}

// lane is the lane of a rate: it takes the course that it took in the trial.
func (c *calibration) lane(trial *observed) sizing.Lane {
	lane := sizing.Lane{First: c.first, Each: c.each, Batch: 500, Every: every}
	for i := range trial.intervals {
		if m := &trial.intervals[i]; len(m.hits) > 0 && m.commit.count > 0 && m.ingest.count > 0 {
			lane.Course = append(lane.Course, c.interval(m))
		}
	}
	return lane
}

// interval says how transactions, and what surrounds them, went in a interval.
func (c *calibration) interval(m *interval) sizing.Interval {
	expected := c.first + time.Duration(math.Max(m.batch()-1, 0)*float64(c.each))
	// The generator is late, the client and the server take their time over HTTP, and then the ranks,
	// which slow down as transactions do, because both wait for the same cores.
	service := time.Duration(0)
	late := make(sizing.Distribution, len(m.hits))
	for i, h := range m.hits {
		service += h.Service / time.Duration(len(m.hits))
		late[i] = h.Late
	}
	slower := float64(m.commit.quantile(0.5)) / float64(expected)
	rest := max(service-m.ingest.mean(), 0) + time.Duration(slower*float64(c.answer))
	return sizing.Interval{More: m.commit.beyond(expected), Around: around(late, rest)}
}

// around is the distribution of a lateness and of a random time with a mean, together.
func around(late sizing.Distribution, mean time.Duration) sizing.Distribution {
	const draws = 200
	rng := rand.New(rand.NewPCG(1, draws))
	sums := make(sizing.Distribution, draws)
	for i := range sums {
		sums[i] = late[rng.IntN(len(late))] + time.Duration(rng.ExpFloat64()*float64(mean))
	}
	slices.Sort(sums)
	return sums
}

func inMS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// laneFlow is what the daemon measured in a time.
type laneFlow struct{ commit, ingest histogram }

// batch is the mean number of increments in a transaction.
func (f *laneFlow) batch() float64 {
	return float64(f.ingest.count) / math.Max(float64(f.commit.count), 1)
}

func (f laneFlow) since(before laneFlow) laneFlow {
	return laneFlow{f.commit.since(before.commit), f.ingest.since(before.ingest)}
}

func (r sizeBench) flowSince(ctx context.Context, before laneFlow) (f laneFlow, err error) {
	now, err := r.laneTotals(ctx)
	if err != nil {
		return f, err
	}
	f = now.since(before)
	if f.commit.count == 0 || f.ingest.count == 0 {
		return f, fmt.Errorf("the daemon measured %d transactions and %d increments", f.commit.count, f.ingest.count)
	}
	return f, nil
}
