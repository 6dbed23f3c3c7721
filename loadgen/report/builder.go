package report

import (
	"cmp"
	"sort"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scoreboard/scoreboard/loadgen/criteria"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// The range and the significant digits of the histograms.
const (
	shortest = time.Microsecond
	longest  = 10 * time.Minute
	digits   = 3
)

// Builder makes a report from the entries of a run. It is not safe for concurrent
// use.
type Builder struct {
	header   record.Header
	ending   *record.Ending
	latency  map[string]*hdrhistogram.Histogram // by the names of criteria
	statuses map[string]uint64
	problems map[string]uint64
	hits     [record.Kinds]uint64 // requests of each kind
	good     [record.Kinds]uint64 // increments or reads with the required response
	sent     uint64
	failed   uint64
	cut      uint64        // on purpose
	played   time.Duration // scheduled time of the last hit
	timeline *timeline
	shards   int // number of merged records
}

// The latencies, as criteria name them.
const (
	api     = "api"
	service = "api.service"
	reads   = "reads"
	late    = "late"
	redis   = "freshness.redis"
	client  = "freshness.client"
)

// The rates of increments, as criteria name them: over the run, and the highest mean over peakWindow.
const (
	rate       = "increments.rate"
	peakRate   = "increments.peak"
	peakWindow = 10 * time.Second
)

// latencies are all of them with their titles.
var latencies = []struct{ name, title string }{
	{api, "increments from scheduled time"},
	{service, "increments from send time"},
	{reads, "reads from scheduled time"},
	{late, "sent late by"},
	{redis, "commit to Redis"},
	{client, "commit to client"},
}

// unknownBuild replaces the version and the commit of a generator that was built without
// them, such as that of a test.
const unknownBuild = "unknown (built without version information)"

// NewBuilder starts a report.
func NewBuilder(h record.Header) *Builder {
	b := &Builder{
		header: h, latency: map[string]*hdrhistogram.Histogram{}, statuses: map[string]uint64{},
		problems: map[string]uint64{}, timeline: newTimeline(h.Duration), shards: 1,
	}
	for _, l := range latencies {
		b.latency[l.name] = hdrhistogram.New(shortest.Microseconds(), longest.Microseconds(), digits)
	}
	return b
}

// Hit adds a hit.
func (b *Builder) Hit(h record.Hit) {
	b.sent++
	b.hits[h.Kind]++
	b.played = max(b.played, h.Scheduled)
	b.observe(late, h.Late)
	s := b.timeline.at(h.Scheduled)
	s.sent++
	if h.Status == 0 && h.Problem == "" {
		b.statuses["cut off"]++ // without a latency
		b.cut++
		return
	}
	if h.Kind == record.Read {
		b.observe(reads, h.Late+h.Service)
	} else {
		b.observe(api, h.Late+h.Service)
		b.observe(service, h.Service)
		add(s.latency, h.Late+h.Service)
	}
	status := "no response"
	if h.Status != 0 {
		status = strconv.Itoa(h.Status)
	}
	b.statuses[status]++
	if h.Problem == "" {
		b.good[h.Kind] += uint64(h.N)
		if h.Kind != record.Read {
			b.timeline.at(h.Scheduled + h.Late + h.Service).good += uint64(h.N)
		}
		return
	}
	b.failed++
	s.errors++
	b.problems[h.Kind.String()+": "+h.Problem]++
}

// Sample adds a sample of freshness.
func (b *Builder) Sample(s record.Sample) {
	b.observe("freshness."+s.Where, s.Took)
	b.timeline.at(s.At).sample(s)
}

// Tick adds the state of the server at a time.
func (b *Builder) Tick(t record.Tick) { b.timeline.at(t.At).tick = t }

// Ending sets the ending.
func (b *Builder) Ending(e record.Ending) { b.ending = &e }

// State is the state of a run so far. Times are in milliseconds.
type State struct {
	Sent, Failed  uint64
	API, Late     Latency   // of increments; of all requests
	Redis, Client float64   // p95 of the freshness
	Errors        []Count   // most frequent first
	P99s          []float64 // of increments, in each of the last intervals of the timeline, oldest first
}

// HasFreshness reports whether freshness was measured.
func (s *State) HasFreshness() bool { return s.Redis > 0 || s.Client > 0 }

// Now returns the current state.
func (b *Builder) Now() State {
	return State{
		b.sent, b.failed, summary(b.latency[api]), summary(b.latency[late]),
		quantile(b.latency[redis], 95), quantile(b.latency[client], 95), b.errorCounts(),
		b.timeline.lastP99s(),
	}
}

func (b *Builder) observe(name string, d time.Duration) {
	if h := b.latency[name]; h != nil {
		add(h, d)
	}
}

// add records a duration, limited to the range of the histogram.
func add(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(d.Microseconds(), h.LowestTrackableValue()), h.HighestTrackableValue()))
}

// Report returns the report of all entries. A run without an ending crashed: it
// counts as cut at the scheduled time of its last hit.
func (b *Builder) Report() (*Report, error) {
	end := record.Ending{Lasted: b.played, Cut: true, Notes: []string{"the run crashed: its record has no ending"}}
	if b.ending != nil {
		end = *b.ending
	}
	seconds := max(end.Lasted.Seconds(), 0.001)
	machine := b.header.Machine
	machine.Version, machine.Commit = cmp.Or(machine.Version, unknownBuild), cmp.Or(machine.Commit, unknownBuild)
	r := &Report{
		Profile: b.header.Profile, Began: b.header.Began.UTC(), Seconds: end.Lasted.Seconds(), Cut: end.Cut,
		Parameters: b.header.Parameters, Machine: machine,
		Scheduled: b.scheduled(end.Lasted), Sent: b.sent, Succeeded: b.sent - b.failed - b.cut, CutOff: b.cut,
		Shards: b.shares(), ReadsRate: float64(b.good[record.Read]) / seconds,
		Latency: summary(b.latency[api]), Service: summary(b.latency[service]),
		Late: summary(b.latency[late]), Reads: summary(b.latency[reads]),
		Freshness: map[string]Latency{"redis": summary(b.latency[redis]), "client": summary(b.latency[client])},
		Statuses:  b.statuses, Errors: b.errorCounts(), Notes: end.Notes,
		Timeline: b.timeline.slices(b.header.Scheduled, end.Lasted),
	}
	increments := uint64(0)
	for kind, n := range b.good {
		if record.Kind(kind) != record.Read {
			increments += n
		}
	}
	r.Rate = float64(increments) / seconds
	r.Measured = b.measure(r, end)
	return r, r.evaluate(b.header, b.shards, end.Skipped)
}

// scheduled is the number of requests in the time that was played.
func (b *Builder) scheduled(lasted time.Duration) uint64 {
	n := uint64(0)
	for i, each := range b.header.Scheduled {
		left := lasted - time.Duration(i)*time.Second
		if left >= time.Second || lasted >= b.header.Duration {
			n += each
		} else if left > 0 {
			n += uint64(float64(each) * left.Seconds())
		}
	}
	return n
}

// measure collects the values of criteria. A value without samples is missing, so
// that its criterion fails.
func (b *Builder) measure(r *Report, end record.Ending) map[string]float64 {
	m := map[string]float64{
		"samples": float64(r.Sent), rate: r.Rate, "reads.rate": r.ReadsRate,
		"duration": float64(end.Lasted) / float64(time.Millisecond),
	}
	if peak := b.timeline.peak(end.Lasted, peakWindow); peak > 0 {
		m[peakRate] = peak
	}
	if r.Sent > 0 {
		m["errors"] = percent(b.failed, r.Sent)
	}
	if r.Scheduled > 0 {
		m["behind"] = percent(max(r.Scheduled, r.Sent)-r.Sent, r.Scheduled)
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
