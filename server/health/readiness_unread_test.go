package health

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A setting that keeps the schema from being read is named, and not the user's rights.
func TestUnreadSchemaNamesTheSetting(t *testing.T) {
	t.Parallel()
	setup := &scoreboard.SetupError{Setting: "postgres.describe", Problem: "a pooler", Fix: "set it"}
	if got := unreadReason(fmt.Errorf("read: %w", setup)); !strings.Contains(got, "postgres.describe") {
		t.Errorf("got %q", got)
	}
	if got := unreadReason(errors.New("permission denied")); got != schemaUnread {
		t.Errorf("got %q", got)
	}
}
