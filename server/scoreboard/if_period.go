package scoreboard

import (
	"fmt"
	"slices"

	"github.com/scoreboard/scoreboard/client/wire"
)

// CheckIfPeriod validates the period that must be current for an increment on boards: one of
// a board that the increment names. It returns an invalid_request. Whether that board has
// periods is Increment.CheckPeriodic.
func CheckIfPeriod(period BoardID, boards []BoardID) error {
	if period == "" {
		return nil
	}
	if _, err := ParseBoardID(string(period)); err != nil || !period.IsInstance() {
		return Invalid("if_period", "if_period must be a period of a board, such as weekly:2026-w47")
	}
	if !slices.Contains(boards, period.Family()) {
		return Invalid("if_period",
			"if_period is a period of board %s, which the increment does not name", period.Family())
	}
	return nil
}

// CheckPeriodic returns an invalid_request if the increment must count in a period of a board
// that has none.
func (in *Increment) CheckPeriodic(b *Board) error {
	if in.IfPeriod == "" || in.IfPeriod.Family() != b.ID || b.IsFamily() {
		return nil
	}
	return Invalid("if_period", "board %s has no periods", b.ID)
}

// CheckPeriod returns a period_ended if the increment must count in another period of a board
// than the current one; "" is none.
func (in *Increment) CheckPeriod(board, current BoardID) error {
	if in.IfPeriod == current || in.IfPeriod.Family() != board {
		return nil
	}
	e := &Error{Code: wire.CodePeriodEnded, Field: "if_period"}
	if current == "" {
		e.Message = fmt.Sprintf("period %s is not current; board %s has no current period", in.IfPeriod, board)
	} else {
		e.Message = fmt.Sprintf("period %s is not current; that is %s", in.IfPeriod, current)
	}
	return e
}
