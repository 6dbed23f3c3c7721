package scoreboard

import (
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// MaxAttempts is the maximum number of attempts of a board.
const MaxAttempts = 1_000_000

// CheckAttempts validates the number of events that a user may have recorded on a board in a
// period; 0 is no limit.
func CheckAttempts(n int64) error {
	if n < 0 || n > MaxAttempts {
		return Invalid("attempts", "attempts must be 0 (no limit) to %d", MaxAttempts)
	}
	return nil
}

// AttemptsLeft returns how many more events of a user the board records in its period, of
// whom it has recorded used; nil without a limit.
func (b *Board) AttemptsLeft(used int64) *int64 {
	if b.Attempts == 0 {
		return nil
	}
	left := min(max(b.Attempts-used, 0), b.Attempts)
	return &left
}

// CheckAttempts returns an attempts_used if a user, of whom the board has recorded used
// events, has none left. The next period begins at reset; zero: there is none, or it is not
// planned.
func (b *Board) CheckAttempts(used int64, reset time.Time) error {
	if b.Attempts == 0 || used < b.Attempts {
		return nil
	}
	e := Errorf(wire.CodeAttemptsUsed, "all attempts on board %s are used: %d of %d", b.ID, b.Attempts, b.Attempts)
	if !reset.IsZero() {
		e.NextReset = reset
		e.Message += "; the next period begins at " + reset.UTC().Format(time.RFC3339)
	}
	return e
}
