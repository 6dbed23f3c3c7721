package realtime_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// tier reads up to the next user.tier.updated.
func (w *watcher) tier() wire.Message {
	w.t.Helper()
	for {
		if f := w.frame(); f.Type == wire.MessageTier {
			return f
		}
	}
}

// Users are told when they come into another tier, by a move of their own or of others, and only then.
func TestOwnTier(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	boards.set("global", of{"alice": 5, "bob": 9, "carol": 1})
	r := start(t, realtime.Options{}, boards)
	hundred := scoreboard.Score(100)
	tiers := scoreboard.Tiers{
		{Name: "legend", Score: &hundred}, {Name: "gold", Rank: 1}, {Name: "silver", Percent: 50_000},
	}
	r.hub.Tiers = func(scoreboard.BoardID) (scoreboard.Tiers, scoreboard.Order) {
		return tiers, scoreboard.OrderHighest
	}
	alice, phone, bob := r.dial("user=alice"), r.dial("user=alice"), r.dial("user=bob")
	dave := r.dial("user=dave") // without a score
	for _, w := range []*watcher{alice, phone, bob, dave} {
		w.expect(wire.MessageUpdated)
	}
	check := func(w *watcher, user, tier, before string) {
		t.Helper()
		if f := w.tier(); f.UserID != user || f.Tier != tier || f.PreviousTier != before || f.Rank == nil {
			t.Errorf("got %+v, want %s in %q after %q", f, user, tier, before)
		}
	}
	r.hub.Notify(boards.set("global", of{"alice": 10})) // past bob
	check(alice, "alice", "gold", "silver")
	check(phone, "alice", "gold", "silver")
	check(bob, "bob", "silver", "gold")
	r.hub.Notify(boards.set("global", of{"alice": 20})) // within the tier, of which nobody is told
	r.hub.Notify(boards.set("global", of{"alice": 120}))
	check(alice, "alice", "legend", "gold")
	r.hub.Notify(boards.set("global", of{"dave": 50}))
	check(dave, "dave", "silver", "")
	check(bob, "bob", "", "silver")
}
