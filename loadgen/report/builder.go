package report

import (
	"sort"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// The range of the histograms: a microsecond to ten minutes, three digits.
const (
	shortest = time.Microsecond
	longest  = 10 * time.Minute
	digits   = 3
)

// Builder makes a report of the entries that it is told. It is for one
// goroutine.
type Builder struct {
	header   record.Header
	ending   *record.Ending
	latency  map[string]*hdrhistogram.Histogram // by the names of criteria
	statuses map[string]uint64
	problems map[string]uint64
	hits     [record.Kinds]uint64 // requests of each kind
	good     [record.Kinds]uint64 // increments answered as they had to be
	sent     uint64
	failed   uint64
	cut      uint64        // on purpose
	played   time.Duration // due time of the last hit
	line     *timeline
	shards   int // that were merged, of a run that several generators shared
}

// The latencies that are kept, as criteria name them.
const (
	api     = "api"
	service = "api.service"
	reads   = "reads"
	late    = "late"
	redis   = "freshness.redis"
	client  = "freshness.client"
)

// NewBuilder begins a report.
func NewBuilder(h record.Header) *Builder {
	b := &Builder{
		header: h, latency: map[string]*hdrhistogram.Histogram{}, statuses: map[string]uint64{}, problems: map[string]uint64{},
		line: newTimeline(h.Duration), shards: 1,
	}
	for _, name := range []string{api, service, reads, late, redis, client} {
		b.latency[name] = hdrhistogram.New(shortest.Microseconds(), longest.Microseconds(), digits)
	}
	return b
}

// Hit takes a hit.
func (b *Builder) Hit(h record.Hit) {
	b.sent++
	b.hits[h.Kind]++
	b.played = max(b.played, h.Due)
	b.observe(late, h.Late)
	s := b.line.at(h.Due)
	s.sent++
	if h.Status == 0 && h.Problem == "" {
		b.statuses["cut on purpose"]++ // there was no answer to measure
		b.cut++
		return
	}
	if h.Kind == record.Read {
		b.observe(reads, h.Late+h.Service)
	} else {
		b.observe(api, h.Late+h.Service)
		b.observe(service, h.Service)
		note(s.latency, h.Late+h.Service)
	}
	status := "no answer"
	if h.Status != 0 {
		status = strconv.Itoa(h.Status)
	}
	b.statuses[status]++
	if h.Problem == "" {
		b.good[h.Kind] += uint64(h.N)
		return
	}
	b.failed++
	s.errors++
	b.problems[h.Kind.String()+": "+h.Problem]++
}

// Sample takes a sample of freshness.
func (b *Builder) Sample(s record.Sample) {
	b.observe("freshness."+s.Where, s.Took)
	b.line.at(s.At).sample(s)
}

// Tick takes the state of the server at a moment.
func (b *Builder) Tick(t record.Tick) { b.line.at(t.At).tick = t }

// Ending takes the end.
func (b *Builder) Ending(e record.Ending) { b.ending = &e }

// State is how a run stands. Times are in milliseconds.
type State struct {
	Sent, Failed  uint64
	API, Late     Latency // of increments from due; of all requests
	Redis, Client float64 // p95 from commit to there
	Errors        []Count // most frequent first
}

// Watched says whether anybody has seen an increment: what nobody looks for is
// not fresh in no time.
func (s *State) Watched() bool { return s.Redis > 0 || s.Client > 0 }

// Now is how the run stands.
func (b *Builder) Now() State {
	return State{
		b.sent, b.failed, summary(b.latency[api]), summary(b.latency[late]),
		quantile(b.latency[redis], 95), quantile(b.latency[client], 95), b.errorCounts(),
	}
}

func (b *Builder) observe(name string, d time.Duration) {
	if h := b.latency[name]; h != nil {
		note(h, d)
	}
}

// note records within the histogram's range; a request ends by its time-out,
// which lies within.
func note(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(d.Microseconds(), h.LowestTrackableValue()), h.HighestTrackableValue()))
}

// Report is the report of what was told so far. A run without an ending died:
// it counts as cut where its last hit was due.
func (b *Builder) Report() (*Report, error) {
	end := record.Ending{Lasted: b.played, Cut: true, Notes: []string{"the run died: its record has no ending"}}
	if b.ending != nil {
		end = *b.ending
	}
	seconds := max(end.Lasted.Seconds(), 0.001)
	r := &Report{
		Profile: b.header.Profile, Began: b.header.Began.UTC(), Seconds: end.Lasted.Seconds(), Cut: end.Cut,
		Parameters: b.header.Parameters, Machine: b.header.Machine,
		Asked: b.asked(end.Lasted), Sent: b.sent, Succeeded: b.sent - b.failed - b.cut, CutOff: b.cut, Shards: b.shares(),
		ReadsRate: float64(b.good[record.Read]) / seconds,
		FromDue:   summary(b.latency[api]), Service: summary(b.latency[service]), Late: summary(b.latency[late]), Reads: summary(b.latency[reads]),
		Freshness: map[string]Latency{"redis": summary(b.latency[redis]), "client": summary(b.latency[client])},
		Statuses:  b.statuses, Errors: b.errorCounts(), Notes: end.Notes, Timeline: b.line.slices(b.header.Asked, end.Lasted),
	}
	increments := uint64(0)
	for kind, n := range b.good {
		if record.Kind(kind) != record.Read {
			increments += n
		}
	}
	r.Rate = float64(increments) / seconds
	r.Measured = b.measure(r, end)
	return r, r.judge(b.header, b.shards, end.Skipped)
}

// asked is how many requests fell due in the time that was played.
func (b *Builder) asked(lasted time.Duration) uint64 {
	n := uint64(0)
	for i, each := range b.header.Asked {
		left := lasted - time.Duration(i)*time.Second
		if left >= time.Second || lasted >= b.header.Duration {
			n += each
		} else if left > 0 {
			n += uint64(float64(each) * left.Seconds())
		}
	}
	return n
}

// measure gathers what criteria are about. What has no samples is left out, and
// so fails its criterion.
func (b *Builder) measure(r *Report, end record.Ending) map[string]float64 {
	m := map[string]float64{
		"samples": float64(r.Sent), "increments.rate": r.Rate, "reads.rate": r.ReadsRate,
		"duration": float64(end.Lasted) / float64(time.Millisecond),
	}
	if r.Sent > 0 {
		m["errors"] = percent(b.failed, r.Sent)
	}
	if r.Asked > 0 {
		m["behind"] = percent(max(r.Asked, r.Sent)-r.Sent, r.Asked)
	}
	for name, h := range b.latency {
		if h.TotalCount() == 0 {
			continue
		}
		for _, q := range criteria.Quantiles {
			m[name+"."+q.Name] = quantile(h, q.Q)
		}
	}
	for name, v := range end.Measured {
		m[name] = v
	}
	return m
}

func percent(part, whole uint64) float64 { return 100 * float64(part) / float64(whole) }

func summary(h *hdrhistogram.Histogram) Latency {
	return Latency{
		N: h.TotalCount(), P50: quantile(h, 50), P90: quantile(h, 90), P95: quantile(h, 95), P99: quantile(h, 99),
		P999: quantile(h, 99.9), P9999: quantile(h, 99.99), Max: quantile(h, 100),
	}
}

// quantile is in milliseconds.
func quantile(h *hdrhistogram.Histogram, q float64) float64 {
	return float64(h.ValueAtQuantile(q)) / 1000
}

func (b *Builder) errorCounts() []Count {
	counts := make([]Count, 0, len(b.problems))
	for text, n := range b.problems {
		counts = append(counts, Count{text, n})
	}
	sort.Slice(counts, func(i, j int) bool {
		if counts[i].N != counts[j].N {
			return counts[i].N > counts[j].N
		}
		return counts[i].What < counts[j].What
	})
	return counts
}
