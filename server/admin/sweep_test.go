package admin

import (
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The use of an action token is remembered until the last increment that was accepted
// with it may have been delivered: the token is valid until it expires, and the
// increment for the window after it was accepted.
func TestUsedTokensOutliveTheirIncrements(t *testing.T) {
	t.Parallel()
	for window := scoreboard.DefaultWindow; window <= scoreboard.MaxWindow; window++ {
		s := Sweeper{Window: window}
		if last := scoreboard.MaxActionTTL + window.Guaranteed(); s.tokenRetention() <= last {
			t.Errorf("window %d: used tokens are remembered for %s, increments arrive for %s", window,
				s.tokenRetention(), last)
		}
		if s.rejectionRetention() <= window.Guaranteed() {
			t.Errorf("window %d: rejections are remembered for %s only", window, s.rejectionRetention())
		}
	}
}
