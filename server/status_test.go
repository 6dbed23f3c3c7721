package server_test

import (
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	root, game := n.client("root", auth.ScopeAdmin), n.client("game", auth.ScopeUpdate)
	ws, _ := dial(t, n.live(), bearer(h.token("alice", "", time.Hour)))
	frame(t, ws)
	if s, err := root.Status(t.Context(), ""); err != nil || s.IncrementsPerSecond != nil {
		t.Fatalf("first status: got %+v, %v, want no rate yet", s, err)
	}
	h.await("a complete status", func() bool {
		// Before each sample: the rate is that of the time since the previous one.
		if _, err := game.Submit(t.Context(), client.Increment{User: "bob", Delta: 1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		s, err := root.Status(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		return s.IncrementsPerSecond != nil && *s.IncrementsPerSecond > 0 && s.LatencyP95MS != nil &&
			*s.LatencyP95MS > 0 &&
			s.OutboxDepth != nil && *s.OutboxDepth == 0 && s.Connections["websocket"] == 1 && s.Board != nil &&
			s.Board.State == "HEALTHY" && s.Board.Members == 1 && s.Parity != nil && s.Parity.Checked > 0 &&
			s.Parity.Percent == 100 &&
			slices.Contains(s.Roles, "gateway") && len(s.Problems) == 0
	})
	if _, err := n.client("alice", "").Status(t.Context(), ""); wire.CodeOf(err) != wire.CodeForbidden {
		t.Errorf("a user: got %v, want forbidden", err)
	}
	if _, err := root.Status(t.Context(), "nosuch"); wire.CodeOf(err) != wire.CodeNotFound {
		t.Errorf("an unknown board: got %v, want not_found", err)
	}
	h.redis.Stop()
	s, err := root.Status(t.Context(), "")
	if err != nil || s.Board != nil || !slices.Contains(s.Problems, "Redis does not answer") || s.OutboxDepth == nil {
		t.Errorf("without Redis: got %+v, %v, want the other values and the problem", s, err)
	}
}
