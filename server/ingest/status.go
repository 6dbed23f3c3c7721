package ingest

import dto "github.com/prometheus/client_model/go"

// Status is what ingest has done since the process started.
type Status struct {
	Accepted int64
	Latency  []LatencyBucket // by rising bound, from an increment's entry to its answer
	Answered uint64          // increments that Latency counts, including those above its last bound
}

// LatencyBucket counts the increments that were answered within a time.
type LatencyBucket struct {
	Seconds float64 // inclusive bound
	Count   uint64  // cumulative
}

// Status returns the counts of this process.
func (in *Ingest) Status() Status {
	var accepted, latency dto.Metric
	_ = in.metrics.accepted.Write(&accepted) // neither fails for metrics of these types
	_ = in.metrics.latency.Write(&latency)
	h := latency.GetHistogram()
	s := Status{Accepted: int64(accepted.GetCounter().GetValue()), Answered: h.GetSampleCount()}
	for _, b := range h.GetBucket() {
		s.Latency = append(s.Latency, LatencyBucket{b.GetUpperBound(), b.GetCumulativeCount()})
	}
	return s
}
