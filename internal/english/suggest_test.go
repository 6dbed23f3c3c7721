package english_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/internal/english"
)

func TestClosest(t *testing.T) {
	t.Parallel()
	words := []string{"submit", "get", "top", "watch", "event"}
	for word, want := range map[string]string{
		"submti": "submit", "wach": "watch", "tpo": "top", "evnet": "event", "qwertz": "", "x": "", "subm": "submit",
	} {
		got := english.Closest(word, words, "")
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		if got != want {
			t.Errorf("Closest(%q): got %q, want %q", word, got, want)
		}
	}
}
