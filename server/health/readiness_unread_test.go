package health

import (
	"fmt"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A setting that keeps the schema from being read is named, also inside of other errors.
func TestUnreadSchemaNamesTheSetting(t *testing.T) {
	t.Parallel()
	setup := &scoreboard.SetupError{Setting: "postgres.describe", Problem: "a pooler", Fix: "set it"}
	s := &state{report: map[string]string{}}
	if err := s.noteSchema("", "", fmt.Errorf("read: %w", setup)); err != nil {
		t.Errorf("got %v, want it reported as the schema's", err)
	}
	if got := s.report["schema"]; !strings.Contains(got, "postgres.describe") {
		t.Errorf("got %q", got)
	}
}
