package report

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scoreboard/scoreboard/loadgen/record"
)

// maxSlices bounds the length of a timeline: a slice is a second of a run of up to fifteen
// minutes.
const maxSlices = 900

// timeline divides a run into intervals of equal length, in whole seconds.
type timeline struct {
	width     time.Duration
	intervals []*interval
}

type interval struct {
	sent, errors  uint64
	good          uint64                  // increments with the required response, by the time of it
	latency       *hdrhistogram.Histogram // with fewer digits than that of the whole run
	tick          record.Tick
	redis, client time.Duration
}

func newTimeline(d time.Duration) *timeline {
	width := time.Second
	for d > maxSlices*width {
		width += time.Second
	}
	return &timeline{width: width}
}

// at returns the interval of a time. What happens after the end, such as the last
// responses, belongs to the last interval.
func (t *timeline) at(d time.Duration) *interval {
	n := min(int(max(d, 0)/t.width), maxSlices-1)
	for len(t.intervals) <= n {
		h := hdrhistogram.New(shortest.Microseconds(), longest.Microseconds(), 2)
		t.intervals = append(t.intervals, &interval{latency: h})
	}
	return t.intervals[n]
}

func (p *interval) sample(s record.Sample) {
	if s.Where == "redis" {
		p.redis = max(p.redis, s.Took)
	} else {
		p.client = max(p.client, s.Took)
	}
}

// maxP99s is how many intervals a live chart can show.
const maxP99s = 60

// lastP99s are those of the last intervals, oldest first, with all responses so far.
func (t *timeline) lastP99s() []float64 {
	var out []float64
	for _, p := range t.intervals[max(0, len(t.intervals)-maxP99s):] {
		out = append(out, quantile(p.latency, 99))
	}
	return out
}

// peak is the highest rate of increments over a window, in whole intervals within the time that was
// played; 0 if that is shorter than the window.
func (t *timeline) peak(lasted, window time.Duration) (rate float64) {
	width := int((window + t.width - 1) / t.width)
	intervals := min(len(t.intervals), int(lasted/t.width))
	sum := uint64(0)
	for i := range intervals {
		sum += t.intervals[i].good
		if i >= width {
			sum -= t.intervals[i-width].good
		}
		if i >= width-1 {
			rate = max(rate, float64(sum)/(time.Duration(width)*t.width).Seconds())
		}
	}
	return rate
}

// slices are the intervals within the time that was played.
func (t *timeline) slices(scheduled []uint64, lasted time.Duration) []Slice {
	out := []Slice{}
	each := int(t.width / time.Second)
	for i := 0; time.Duration(i)*t.width < lasted; i++ {
		p := t.at(time.Duration(i) * t.width)
		length := min(t.width, lasted-time.Duration(i)*t.width).Seconds()
		n := uint64(0)
		for s := i * each; s < min((i+1)*each, len(scheduled)); s++ {
			n += scheduled[s]
		}
		out = append(out, Slice{
			At: float64(i * each), Target: float64(n) / float64(each),
			Sent: float64(p.sent) / length, Errors: float64(p.errors) / length,
			P50: quantile(p.latency, 50), P95: quantile(p.latency, 95), P99: quantile(p.latency, 99),
			OutboxDepth: p.tick.OutboxDepth, OldestMS: p.tick.OldestMS, Lag: p.tick.Lag,
			Redis: ms(p.redis), Client: ms(p.client), good: float64(p.good) / length,
		})
		if i == maxSlices-1 {
			break
		}
	}
	return out
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
