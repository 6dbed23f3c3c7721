package main

import (
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/instance"
)

func TestPlay(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	env := map[string]string{
		"SBCTL_SERVER": s.URL, "SBCTL_TOKEN": instance.Token("game", "score:update"),
		"SBCTL_KEY_ID": instance.KeyID, "SBCTL_KEY_SECRET": instance.Secret,
	}
	var out strings.Builder
	if err := play(t.Context(), func(name string) string { return env[name] }, &out, "season-1"); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), " wins "); n != 10 || !strings.Contains(out.String(), " is #1 of ") {
		t.Errorf("got %d wins:\n%s", n, out.String())
	}
	events := map[string]bool{}
	for _, r := range s.Seen() {
		if r.Increment.EventID != "" {
			events[r.Increment.EventID] = true
		}
	}
	if !events["season-1:match:0"] || len(events) != 10 {
		t.Errorf("event ids: got %v, want one for each match", events)
	}
}
