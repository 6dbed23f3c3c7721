package scoreboard

import (
	"fmt"

	"github.com/scoreboard/scoreboard/client/wire"
)

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
			Code: wire.CodeDeltaOutOfRange, Field: "delta", Reason: wire.ReasonDeltaLimits,
			Message: fmt.Sprintf("delta must be from %d to %d", p.MinDelta, p.MaxDelta),
		}
	}
	return nil
}
