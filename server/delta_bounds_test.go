package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// SCORE_DELTA_MIN and SCORE_DELTA_MAX of specification C bound the increments of the dialect
// delta, wider or narrower than by default, and no score of another dialect or board.
func TestBoundsOfDeltaAreItsOwn(t *testing.T) {
	t.Parallel()
	h, n := dialectNode(t, "dialect-delta-min-delta", "-50", "dialect-delta-max-delta", "100")
	player := bearer(h.token("ada", "", time.Hour))
	action := n.startAction(t, "ada", `{"action_id":"m1"}`)
	events := 0
	send := func(n *node, what, path, body string, want int) {
		t.Helper()
		if status, _, answer := request(t, http.MethodPost, n.URL+path, body, player); status != want {
			t.Errorf("%s: got %d %s, want %d", what, status, answer, want)
		}
	}
	delta := func(n *node, points, want int) {
		t.Helper()
		events++
		send(n, fmt.Sprint("a delta of ", points), "/delta/v1/score/update", fmt.Sprintf(`{"userId":"ada",`+
			`"scoreDelta":%d,"actionId":"a%d","timestamp":"2026-11-21T12:00:00Z"}`, points, events), want)
	}
	delta(n, 100, http.StatusOK)
	delta(n, 101, http.StatusBadRequest)
	delta(n, -50, http.StatusOK)
	delta(n, -51, http.StatusBadRequest)
	send(n, "a score of highscore", "/v1/scores/update", fmt.Sprintf(`{"action_id":"m1","action_token":%q,`+
		`"new_score":12345,"timestamp":"2026-02-02T10:30:00Z"}`, action), http.StatusOK)
	send(n, "a score of plain", "/scores", `{"score":4500}`, http.StatusOK)
	if _, err := n.client("game", auth.ScopeUpdate).Submit(t.Context(),
		client.Increment{User: "ada", Delta: 5000}); err != nil {
		t.Errorf("a native increment: %v", err)
	}
	n.stop()

	n = h.start(allRoles, "transport", "direct", "dialects", "delta", "dialect-delta-max-delta", "5000000")
	delta(n, 5_000_000, http.StatusOK)
	delta(n, -50, http.StatusOK) // as it was
	delta(n, 5_000_001, http.StatusBadRequest)
}
