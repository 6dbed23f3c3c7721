package scoreboard

import "github.com/scoreboard/scoreboard/client/wire"

// Adjustment is an operator's signed change of a user's score on one board of any mode. The ids of
// adjustments are apart from those of clients.
type Adjustment struct {
	User     UserID
	Board    BoardID
	Event    EventID
	Delta    int64
	Subscore *Score // likewise added, on a board with subscores; nil: none, which counts as 0
}

// Check returns a delta_out_of_range for an adjustment by 0, or one that not every store has exactly.
func (a *Adjustment) Check() error {
	switch {
	case a.Subscore != nil && !a.Subscore.InRange():
		return &Error{
			Code: wire.CodeDeltaOutOfRange, Field: "subscore", Message: "subscore must be within ±(2^53 − 1)",
		}
	case a.Delta == 0 && (a.Subscore == nil || *a.Subscore == 0), !Score(a.Delta).InRange():
		return &Error{
			Code: wire.CodeDeltaOutOfRange, Field: "delta",
			Message: "delta must be within ±(2^53 − 1), and not 0 without a subscore",
		}
	}
	return nil
}
