package sizing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Distribution is a distribution of durations: the values at evenly spaced probabilities from 0
// to 1, between which it is linear. Of one value, it is constant; the zero value is always 0.
type Distribution []time.Duration

func (d Distribution) draw(rng *rand.Rand) time.Duration {
	if len(d) < 2 {
		return append(d, 0)[0]
	}
	at := rng.Float64() * float64(len(d)-1)
	i := int(at)
	return d[i] + time.Duration((at-float64(i))*float64(d[i+1]-d[i]))
}

// Lane is what decides how long an increment takes. A lane commits one transaction at a time, of
// all increments that wait when it begins; while it is in flight, the next ones gather.
type Lane struct {
	First time.Duration // a transaction of one increment
	Each  time.Duration // and for each further one
	Batch int           // most increments in a transaction
	// Course says how times differ, one interval after the other, over and over: when a machine is
	// slow for a while, all increments of that time are. Empty: they do not differ.
	Course []Interval
	Every  time.Duration // length of an interval
}

// Interval is a part of a Course.
type Interval struct {
	// More is added to the duration of each transaction; it can be negative.
	More Distribution
	// Around is what an increment takes before and after its transaction.
	Around Distribution
}

func (l *Lane) at(t time.Duration) Interval {
	if len(l.Course) == 0 {
		return Interval{}
	}
	return l.Course[int(t/l.Every)%len(l.Course)]
}

// Latency is the result of a simulation.
type Latency struct {
	P50   time.Duration
	P95   time.Duration
	Batch float64 // mean increments in a transaction
}

// Simulate returns the latency of a number of increments that arrive at random, at a rate a second. The
// same arguments have the same result.
func Simulate(rate float64, increments int, lane *Lane) Latency {
	rng := rand.New(rand.NewPCG(uint64(rate), uint64(increments)))
	arrivals := make([]time.Duration, increments)
	at := 0.0
	for i := range arrivals {
		at += rng.ExpFloat64() / rate * float64(time.Second)
		arrivals[i] = time.Duration(at)
	}
	latencies := make([]time.Duration, 0, increments)
	free := time.Duration(0) // when the lane is
	batches := 0
	for next := 0; next < increments; batches++ {
		began := max(free, arrivals[next])
		first := next
		for next < increments && next-first < lane.Batch && arrivals[next] <= began {
			next++
		}
		took := lane.First + time.Duration(next-first-1)*lane.Each
		free = began + max(took+lane.at(began).More.draw(rng), 0)
		for i := first; i < next; i++ {
			latencies = append(latencies, free-arrivals[i]+lane.at(arrivals[i]).Around.draw(rng))
		}
	}
	slices.Sort(latencies)
	return Latency{
		P50: quantile(latencies, 0.5), P95: quantile(latencies, 0.95),
		Batch: float64(increments) / float64(batches),
	}
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(int(math.Ceil(q*float64(len(sorted)))), len(sorted))-1]
}

// Period is a part of a simulated day.
type Period struct {
	Name  string  `json:"period"` // the hour, or peak
	Rate  float64 `json:"increments_per_second"`
	Batch float64 `json:"increments_in_a_transaction"`
	P50   float64 `json:"p50_ms"` // from the arrival at a lane to the commit
	P95   float64 `json:"p95_ms"`
}

// shape is a day of players who share a time zone, in relative rates: few at night, most in the
// evening.
var shape = [24]float64{
	.30, .20, .14, .10, .08, .10, .16, .26, .36, .42, .46, .50,
	.54, .54, .54, .56, .62, .70, .80, .92, 1, .94, .72, .46,
}

// The peak lasts ten minutes, such as after an announcement.
const (
	peakName = "peak"
	peakPart = 1.0 / 144 // of a day
)

// perPeriod is how many increments of a period are simulated, on one lane.
const perPeriod = 20_000

// replayDay simulates a day, with the increments spread over the lanes.
func replayDay(average, peak float64, lanes int64) []Period {
	lane := measuredLane()
	rates := dayRates(average, peak)
	periods := make([]Period, len(rates))
	for i, rate := range rates {
		l := Simulate(rate/float64(lanes), perPeriod, &lane)
		name := peakName
		if i < len(shape) {
			name = fmt.Sprintf("%02d:00", i)
		}
		periods[i] = Period{name, rate, l.Batch, milliseconds(l.P50), milliseconds(l.P95)}
	}
	return periods
}

// dayRates returns the rates of 24 hours and of the peak, which is in addition: all together have
// the average.
func dayRates(average, peak float64) (rates [25]float64) {
	sum := 0.0
	for _, v := range shape {
		sum += v
	}
	rest := max(average-average*(peak-1)*peakPart, 0) // without what the peak is above the average
	for i, v := range shape {
		rates[i] = max(rest*v/sum*24, 0.001)
	}
	rates[24] = average * peak
	return rates
}

// measuredLane is a lane of the coefficients, with the default of ingest.batch.
func measuredLane() Lane {
	const batch = 500
	micros := func(c coefficient) time.Duration { return time.Duration(c.value() * float64(time.Microsecond)) }
	return Lane{First: micros(transaction), Each: micros(perIncrement), Batch: batch}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
