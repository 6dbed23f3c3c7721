package loadgen

import (
	"encoding/json"
	"sort"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// The range of the histograms: a microsecond to ten minutes, three digits.
const (
	shortest = time.Microsecond
	longest  = 10 * time.Minute
	digits   = 3
)

// recorder counts the outcomes of a run.
type recorder struct {
	plan     *Plan
	fromDue  *hdrhistogram.Histogram // from when due to answered
	service  *hdrhistogram.Histogram // from when sent to answered
	late     *hdrhistogram.Histogram // from when due to sent
	statuses map[string]uint64
	errors   map[string]uint64 // by text, at most maxErrors of them
	samples  uint64
	failed   uint64
}

// maxErrors bounds the texts that are told apart; the rest counts as other.
const maxErrors = 20

func newRecorder(p *Plan) *recorder {
	h := func() *hdrhistogram.Histogram {
		return hdrhistogram.New(shortest.Microseconds(), longest.Microseconds(), digits)
	}
	return &recorder{plan: p, fromDue: h(), service: h(), late: h(), statuses: map[string]uint64{}, errors: map[string]uint64{}}
}

// add takes one outcome. sent is when it was sent, from the beginning of the
// run; vegeta numbers its requests in the order in which it sends them, which
// is that in which they were due.
func (r *recorder) add(res *vegeta.Result, sent time.Duration) {
	r.samples++
	due := r.plan.due(res.Seq)
	record(r.fromDue, sent+res.Latency-due)
	record(r.service, res.Latency)
	record(r.late, sent-due)
	status := "no answer"
	if res.Code != 0 {
		status = strconv.Itoa(int(res.Code))
	}
	r.statuses[status]++
	if res.Code == 200 && res.Error == "" {
		return
	}
	r.failed++
	text := describe(res, status)
	if _, known := r.errors[text]; !known && len(r.errors) >= maxErrors {
		text = "other"
	}
	r.errors[text]++
}

// describe says in a few words why a request failed, the same words for the
// same cause.
func describe(res *vegeta.Result, status string) string {
	var refusal protocol.Error
	if res.Code != 0 && json.Unmarshal(res.Body, &refusal) == nil && refusal.ErrorCode != "" {
		return status + " " + refusal.ErrorCode
	}
	if res.Error != "" {
		return res.Error
	}
	return status
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	// Out of range cannot be: it is clamped, and a request ends by its time-out.
	_ = h.RecordValue(min(max(d, shortest), longest).Microseconds())
}

// latency summarises a histogram, in milliseconds.
func latency(h *hdrhistogram.Histogram) Latency {
	ms := func(us int64) float64 { return float64(us) / 1000 }
	return Latency{
		P50: ms(h.ValueAtQuantile(50)), P95: ms(h.ValueAtQuantile(95)), P99: ms(h.ValueAtQuantile(99)),
		P999: ms(h.ValueAtQuantile(99.9)), Max: ms(h.Max()),
	}
}

func (r *recorder) errorCounts() []Count {
	counts := make([]Count, 0, len(r.errors))
	for text, n := range r.errors {
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
