package scoreboard

import "fmt"

// Trust is what an increment must bear beside the bounds of its boards.
type Trust struct {
	Rules                 Rules
	Anomalies             Anomalies
	LeastDelta, MostDelta int64 // of every increment
}

// CheckDelta holds a delta to the bounds of all: a delta_out_of_range if it is
// beyond.
func (t *Trust) CheckDelta(delta int64) error {
	if delta < t.LeastDelta || delta > t.MostDelta {
		return &Error{
			Code: CodeDeltaOutOfRange, Field: "delta", Reason: ReasonDeltaLimits,
			Message: fmt.Sprintf("delta must be from %d to %d", t.LeastDelta, t.MostDelta),
		}
	}
	return nil
}
