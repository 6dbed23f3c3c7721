package server_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// The bounds of a board become narrower and wider. A repeat gets its receipt all the same, and
// each change has a version and an entry in the trail.
func TestBoundsOfBoardsCanBeChanged(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "transport", "direct")
	c := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	if _, err := c.CreateBoard(t.Context(), client.BoardRequest{Board: "arena"}); err != nil {
		t.Fatal(err)
	}
	submit := func(event string, delta int64) error {
		_, err := c.Submit(t.Context(), client.Increment{User: "ada", Board: "arena", EventID: event, Delta: delta})
		return err
	}
	bounds := func(lowest, highest, version int64) {
		t.Helper()
		b, err := c.SetBoard(t.Context(), "arena", client.BoardChange{MinDelta: &lowest, MaxDelta: &highest})
		if err != nil || b.MinDelta != lowest || b.MaxDelta != highest || b.BoundsVersion != version {
			t.Fatalf("got %+v, %v, want %d to %d, version %d", b, err, lowest, highest, version)
		}
	}
	for _, step := range []struct {
		event           string
		delta           int64
		valid           bool
		lowest, highest int64 // afterwards; 0 and 0 for no change
		version         int64
	}{
		{"e1", 500, true, 1, 100, 2},
		{"e2", 500, false, 0, 0, 0},
		{"e1", 500, true, 1, 100, 2}, // no change
		{"e3", -5, false, -10, 2_000_000, 3},
		{"e3", -5, true, 0, 0, 0},
		{"e4", 1_500_000, true, 0, 0, 0},
	} {
		if err := submit(step.event, step.delta); (err == nil) != step.valid {
			t.Errorf("%s with %d: got %v, want valid %v", step.event, step.delta, err, step.valid)
		}
		if step.version > 0 {
			bounds(step.lowest, step.highest, step.version)
		}
	}
	minDelta, maxDelta := int64(5), int64(4)
	change := client.BoardChange{MinDelta: &minDelta, MaxDelta: &maxDelta}
	if _, err := c.SetBoard(t.Context(), "arena", change); err == nil {
		t.Error("a minimum above the maximum is accepted")
	}
	entries := backends.Connect(t, h.postgres).Count(t,
		`select count(*) from audit_log where action = 'board.set' and target = 'board:arena'`)
	if entries != 3 { // of each request that was accepted
		t.Errorf("%d entries are in the audit trail, want 3", entries)
	}
}
