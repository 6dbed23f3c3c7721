package realtime

import (
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A viewer who leaves while the own rank is read is not kept among those in the top,
// whose ranks would be read again and again.
func TestDetachedViewerIsForgotten(t *testing.T) {
	t.Parallel()
	h := &Hub{rankLookups: newRankLookups(nil, nil)}
	b := &board{hub: h, latest: &scoreboard.Top{Board: "global"}}
	sub := &subscription{}
	b.attach("ada", sub)
	st := sub.standing
	b.detach(sub)
	st.resolve(&scoreboard.List{Board: "global", Epoch: 1, Version: 1}, &scoreboard.Entry{Rank: 1, Score: 5}, nil)
	if len(b.inTop) != 0 || len(b.users) != 0 {
		t.Errorf("%d standings in the top and %d users are kept, want none", len(b.inTop), len(b.users))
	}
}
