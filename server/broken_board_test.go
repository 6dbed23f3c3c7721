package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Somebody breaks a key of a board under nodes that run. Changes of the other board are shown as
// before, the broken one is answered from PostgreSQL, the doctor names it, and it is rebuilt
// without a command.
func TestBrokenKeyUnderARunningNode(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	root := n.client("root", auth.ScopeAdmin)
	if _, err := root.CreateBoard(t.Context(), client.BoardRequest{Board: "other"}); err != nil {
		t.Fatal(err)
	}
	const key = "sb:{global}:users"
	rdb := backends.RedisClient(t, h.redis.URL)
	submit := func(n *node, board string, score int) {
		t.Helper()
		if _, err := n.client("game", auth.ScopeUpdate).Submit(t.Context(), client.Increment{
			User: "bob", Delta: 1, Board: board, EventID: fmt.Sprintf("%s-%d", board, score),
		}); err != nil {
			t.Fatal(err)
		}
	}
	breakKey := func() {
		t.Helper()
		if err := rdb.Set(t.Context(), key, "broken", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	rebuilt := func(n *node, score int) {
		t.Helper()
		h.await("the rebuild of the broken board", func() bool {
			return rdb.Type(t.Context(), key).Val() == "hash" && !own(h, n, "global").Degraded
		})
		h.ranked(n, "global", "bob", score)
		if mine := own(h, n, "global"); mine.Score != int64(score) || mine.Rank != 1 {
			t.Errorf("rebuilt: got %+v, want rank 1 with %d", mine, score)
		}
	}
	named := func(n *node) {
		t.Helper()
		h.await("the doctor to name the board", func() bool {
			found, err := n.client("root", auth.ScopeAdmin).Checks(t.Context())
			if err != nil {
				return false
			}
			for _, c := range found.Checks {
				if c.Name == "boards" {
					return c.Status == wire.CheckWarn && strings.Contains(c.Detail, "global at")
				}
			}
			return false
		})
	}

	submit(n, "global", 1)
	submit(n, "other", 1)
	h.ranked(n, "global", "bob", 1)
	h.ranked(n, "other", "bob", 1)
	breakKey()
	submit(n, "global", 2)
	submit(n, "other", 2)
	h.ranked(n, "other", "bob", 2)
	named(n)
	rebuilt(n, 2)
	n.stop()

	// Without the role maintenance nothing rebuilds the board, so that what readers see meanwhile lasts.
	n = h.start("api,relay,projector,gateway")
	h.ranked(n, "global", "bob", 2)
	if err := rdb.Del(t.Context(), "sb:aside").Err(); err != nil { // the doctor's memory of the first time
		t.Fatal(err)
	}
	breakKey()
	submit(n, "global", 3)
	submit(n, "other", 3)
	began := time.Now()
	h.ranked(n, "other", "bob", 3)
	h.await("the broken board to be degraded", func() bool {
		mine := own(h, n, "global")
		return mine.Degraded && mine.Score == 3 && mine.Rank == 1
	})
	named(n)
	h.await("the other board to be of a time after the key was broken", func() bool {
		mine := own(h, n, "other")
		return !mine.Degraded && mine.AgeMS < time.Since(began).Milliseconds()
	})
	h.start("maintenance")
	rebuilt(n, 3)
}

// own is bob's place on a board, as a node answers it; without a score if it does not.
func own(h *harness, n *node, board string) client.Place {
	c, err := client.New(n.URL, client.Options{Token: h.token("bob", "", time.Hour), Attempts: 1})
	if err != nil {
		h.t.Fatal(err)
	}
	defer c.Close()
	place, err := c.Me(h.t.Context(), client.PlaceQuery{Board: board})
	if err != nil {
		return client.Place{Degraded: true}
	}
	return place
}
