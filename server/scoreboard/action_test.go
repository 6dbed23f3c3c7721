package scoreboard_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestActionBounds(t *testing.T) {
	t.Parallel()
	bounds, err := scoreboard.ParseActionBounds([]string{"kill:1:50", "boss:final:-5:100"})
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		action string
		delta  int64
		code   scoreboard.Code
	}{
		{"kill", 1, ""},
		{"kill", 50, ""},
		{"kill", 0, scoreboard.CodeDeltaOutOfRange},
		{"kill", 51, scoreboard.CodeDeltaOutOfRange},
		{"boss:final", -5, ""},
		{"boss:final", -6, scoreboard.CodeDeltaOutOfRange},
		{"walk", 1000, ""},
		{"", 1000, ""},
	}
	for _, c := range cases {
		if code := scoreboard.CodeOf(bounds.Check(c.action, c.delta)); code != c.code {
			t.Errorf("%s with %d: got %q, want %q", c.action, c.delta, code, c.code)
		}
	}
	for _, text := range []string{"kill", "kill:1", ":1:2", "kill:a:2", "kill:2:1", "ki|ll:1:2", "kill:1:2:"} {
		if _, err := scoreboard.ParseActionBounds([]string{text}); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	if _, err := scoreboard.ParseActionBounds([]string{"kill:1:2", "kill:1:3"}); err == nil {
		t.Error("an action twice is accepted")
	}
}
