package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A user's attempts on a daily board, by every way of writing, as the user and others see them.
func TestAttemptsThroughTheAPI(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles+",intake", "ingest-async", "true")
	root, ada := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate), n.client("ada", "")
	attempts := int64(3)
	b, err := root.CreateBoard(t.Context(), client.BoardRequest{
		Board: "cup", Mode: "best", Period: "daily", Attempts: &attempts,
	})
	if err != nil || b.Attempts != 3 {
		t.Fatalf("got %+v, %v, want a board with 3 attempts", b, err)
	}
	instance, err := root.Board(t.Context(), b.Current)
	if err != nil || instance.Attempts != 3 {
		t.Fatalf("got %+v, %v, want an instance with 3 attempts", instance, err)
	}
	submit := func(c *client.Client, event string, delta int64) error {
		_, err := c.Submit(t.Context(), client.Increment{User: "ada", Board: "cup", EventID: event, Delta: delta})
		return err
	}
	left := func(c *client.Client, want string) {
		t.Helper()
		h.await("ada to have "+want+" attempts left", func() bool {
			p, err := c.Score(t.Context(), "ada", client.PlaceQuery{Board: "cup"})
			got := "unknown"
			if p.AttemptsLeft != nil {
				got = fmt.Sprint(*p.AttemptsLeft)
			}
			return err == nil && got == want
		})
	}
	for _, event := range []string{"e1", "e2", "e1"} { // the second is no improvement
		if err := submit(ada, event, 5); err != nil {
			t.Fatal(err)
		}
	}
	left(ada, "1")
	left(root, "1")
	left(n.client("bob", ""), "unknown")

	// In a batch, one of two is recorded; the other is told when to try again.
	results, err := root.SubmitBatch(t.Context(), []client.Increment{
		{User: "ada", Board: "cup", EventID: "e3", Delta: 1}, {User: "ada", Board: "cup", EventID: "e4", Delta: 1},
	})
	if err != nil || results[0].Err != nil {
		t.Fatalf("got %+v, %v, want one of two recorded", results, err)
	}
	for what, err := range map[string]error{"batch": results[1].Err, "at once": submit(ada, "e5", 9)} {
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Code != wire.CodeAttemptsUsed ||
			!refused.NextReset.Equal(*instance.PeriodEnd) {
			t.Errorf("%s: got %+v, want attempts_used until %s", what, err, instance.PeriodEnd)
		}
	}
	left(ada, "0")

	// Accepted for later, it is rejected then; a repeat is not.
	header := bearer(h.token("ada", "", time.Hour))
	header.Set("Prefer", "respond-async")
	for event, want := range map[string]string{"e6": wire.StatusRejected, "e2": wire.StatusDone} {
		delta := map[string]int{"e6": 9, "e2": 5}[event]
		body := fmt.Sprintf(`{"user_id":"ada","delta":%d,"event_id":%q,"board":"cup","timestamp":%q}`,
			delta, event, time.Now().UTC().Format(time.RFC3339))
		status, _, answer := request(t, http.MethodPost, n.URL+"/v1/scores/increment", body, header)
		if status != http.StatusAccepted && want == wire.StatusRejected {
			t.Fatalf("%s: %d %s", event, status, answer)
		}
		if last := n.outcome(t, h.token("ada", "", time.Hour), "ada", event); last.Status != want ||
			want == wire.StatusRejected && (last.ErrorCode != string(wire.CodeAttemptsUsed) ||
				!strings.Contains(last.Message, instance.PeriodEnd.Format(time.RFC3339))) {
			t.Errorf("%s: got %+v, want %s", event, last, want)
		}
	}

	if _, err := root.Reverse(t.Context(), "e2", client.ReverseRequest{UserID: "ada", Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	left(ada, "1")
	more := int64(5)
	if b, err = root.SetBoard(t.Context(), "cup", client.BoardChange{Attempts: &more}); err != nil ||
		b.Attempts != 5 || b.BoundsVersion != 2 {
		t.Fatalf("got %+v, %v, want 5 attempts and version 2", b, err)
	}
	left(ada, "3")
	for _, wrong := range []int64{-1, 1_000_001} {
		_, err := root.SetBoard(t.Context(), "cup", client.BoardChange{Attempts: &wrong})
		if wire.CodeOf(err) != wire.CodeInvalidRequest {
			t.Errorf("%d attempts: %v", wrong, err)
		}
	}
}

// The dialect plain records improvements alone, so nothing counts the attempts on its board.
func TestPlainBoardsHaveNoAttempts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "transport", "direct", "dialects", "plain")
	root := n.client("root", auth.ScopeAdmin)
	attempts, none := int64(3), int64(0)
	_, err := root.SetBoard(t.Context(), "plain", client.BoardChange{Attempts: &attempts})
	if wire.CodeOf(err) != wire.CodeInvalidRequest {
		t.Errorf("got %v, want invalid_request", err)
	}
	if _, err := root.SetBoard(t.Context(), "plain", client.BoardChange{Attempts: &none}); err != nil {
		t.Error(err)
	}
}
