package realtime_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

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

// A user who passes fifty tiers in half a second is told at most once per window, and in the end of the last one: in
// the rows that the hub knows, and below them, where it looks the user up.
func TestOwnTierOncePerWindow(t *testing.T) {
	t.Parallel()
	const window, moves = 100 * time.Millisecond, 50
	for name, first := range map[scoreboard.UserID]scoreboard.Score{user(0): 1_000_000, user(120): 30_001} {
		t.Run(string(name), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				boards := newRanking("global")
				boards.set("global", manyUsers(150))
				r := startInMemory(t, realtime.Options{Window: window}, boards)
				tiers := make(scoreboard.Tiers, moves)
				for i := range tiers {
					score := first + scoreboard.Score(moves-1-i)
					tiers[i] = scoreboard.Tier{Name: fmt.Sprint("t", score), Score: &score}
				}
				r.hub.Tiers = func(scoreboard.BoardID) (scoreboard.Tiers, scoreboard.Order) {
					return tiers, scoreboard.OrderHighest
				}
				w := r.dial("user=" + string(name))
				w.expect(wire.MessageUpdated)
				time.Sleep(3 * window) // the user's standing is known
				go func() {
					for i := range scoreboard.Score(moves) {
						r.hub.Notify(boards.set("global", of{name: first + i}))
						time.Sleep(10 * time.Millisecond)
					}
				}()
				var at []time.Time
				for last, tier := tiers[0].Name, ""; tier != last; at = append(at, time.Now()) {
					tier = w.tier().Tier
				}
				if len(at) < 2 || len(at) > 6 {
					t.Errorf("%d moves in half a second came in %d messages, want one a window", moves, len(at))
				}
				for i := 1; i < len(at); i++ {
					if gap := at[i].Sub(at[i-1]); gap < window {
						t.Errorf("messages %s apart, want a window", gap)
					}
				}
			})
		})
	}
}
