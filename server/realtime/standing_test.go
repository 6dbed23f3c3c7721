package realtime

import (
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A viewer who leaves while the own rank is read is not kept among those in the top,
// whose ranks would be read again and again.
func TestDetachedViewerIsForgotten(t *testing.T) {
	t.Parallel()
	b := &board{latest: &scoreboard.Top{Board: "global"}}
	sub := &subscription{}
	b.attach("ada", sub)
	st := sub.standing
	b.detach(sub)
	st.resolve(&scoreboard.Place{Board: "global", Rank: 1, Score: 5, Epoch: 1, Version: 1}, nil)
	if len(b.inTop) != 0 || len(b.users) != 0 {
		t.Errorf("%d standings in the top and %d users are kept, want none", len(b.inTop), len(b.users))
	}
}
