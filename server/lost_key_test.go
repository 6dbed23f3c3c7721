package server_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A board of a running node whose sorted set or hash is lost is never shown as empty and
// healthy: it is read from PostgreSQL, degraded, and rebuilt without a change that asks for it.
func TestLostKeyUnderARunningNode(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	if _, err := n.client("game", auth.ScopeUpdate).Submit(t.Context(),
		client.Increment{User: "bob", Delta: 7}); err != nil {
		t.Fatal(err)
	}
	h.ranked(n, "global", "bob", 7)
	n.stop()
	rdb := backends.RedisClient(t, h.redis.URL)
	for _, key := range []string{"sb:{global}:rank", "sb:{global}:users"} {
		// Without the role maintenance nothing rebuilds the board, so that what readers see lasts.
		n = h.start("api,relay,projector,gateway")
		h.ranked(n, "global", "bob", 7)
		if removed, err := rdb.Del(t.Context(), key).Result(); err != nil || removed != 1 {
			t.Fatalf("removed %d keys %s, %v", removed, key, err)
		}
		h.await(key+" to be missed", func() bool {
			mine := own(h, n, "global")
			if !mine.Degraded && (mine.Score != 7 || mine.Rank != 1) {
				t.Fatalf("without %s: got %+v, want bob with 7, or degraded", key, mine)
			}
			return mine.Degraded && mine.BoardState == "DEGRADED_REBUILDING" && mine.Score == 7 && mine.Rank == 1
		})
		m := h.start("maintenance")
		h.await("the rebuild", func() bool {
			mine := own(h, n, "global")
			return !mine.Degraded && mine.Score == 7 && mine.Rank == 1 && rdb.Exists(t.Context(), key).Val() == 1
		})
		m.stop()
		n.stop()
	}
}
