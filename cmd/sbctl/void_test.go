package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// An event that a void cannot reverse is shown with its reason and its next attempt,
// with the void and with the user.
func TestParkedEventsAreShown(t *testing.T) {
	t.Parallel()
	next := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	failures := []wire.VoidFailure{
		{
			VoidID: 3, UserID: "mallory", EventID: "e-1", State: "waiting", Reason: "cannot be reversed", Attempts: 2,
			NextAt: &next,
		},
		{VoidID: 3, UserID: "mallory", EventID: "e-2", State: "skipped", Reason: "board daily is gone", Attempts: 9},
	}
	answers := map[string]any{
		"/v1/admin/voids/3":       wire.Void{ID: 3, State: "reversing", Waiting: 1, Failures: failures},
		"/v1/admin/users/mallory": wire.User{UserID: "mallory", Status: "active", VoidFailures: failures},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answers[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	for _, command := range []string{"event show-void 3", "user show mallory"} {
		var out bytes.Buffer
		args := append(strings.Fields(command), "--server", server.URL)
		env := []string{"SBCTL_TOKEN=t", "HOME=" + t.TempDir(), "TZ=UTC"}
		if code := run(t.Context(), args, strings.NewReader(""), &out, &out, env); code != exitOK {
			t.Fatalf("sbctl %s: got exit code %d: %s", command, code, out.String())
		}
		for _, want := range []string{
			"waiting", "event e-1 of mallory: cannot be reversed (2 attempts, next at 2026-11-23",
			"skipped", "event e-2 of mallory: board daily is gone",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("sbctl %s: %q is missing in\n%s", command, want, out.String())
			}
		}
	}
}
