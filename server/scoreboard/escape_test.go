package scoreboard_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":           "plain",
		"Zo\u00eb \u30a2": "Zo\u00eb \u30a2",
		"a\x1b[31m":       `a\u001b[31m`,
		"a\nb\tc":         `a\nb\tc`,
		"a\u202eb":        `a\u202eb`,
		"a\U000e0041":     `a\U000e0041`,
		"a\xff":           `a\ufffd`,
	} {
		if got := scoreboard.Escape(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
