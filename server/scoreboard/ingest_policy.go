package scoreboard

import "fmt"

// IngestPolicy is what every increment must satisfy in addition to the bounds of
// its boards.
type IngestPolicy struct {
	Rules              Rules
	Anomalies          Anomalies
	MinDelta, MaxDelta int64 // of every increment
}

// CheckDelta returns a delta_out_of_range if delta exceeds the installation-wide
// bounds.
func (p *IngestPolicy) CheckDelta(delta int64) error {
	if delta < p.MinDelta || delta > p.MaxDelta {
		return &Error{
			Code: CodeDeltaOutOfRange, Field: "delta", Reason: ReasonDeltaLimits,
			Message: fmt.Sprintf("delta must be from %d to %d", p.MinDelta, p.MaxDelta),
		}
	}
	return nil
}
