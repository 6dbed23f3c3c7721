//go:build unix

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

// On a terminal statuses have marks and colours, which NO_COLOR and CLICOLOR turn off, and
// a table that does not fit goes through the pager.
func TestStyleOnTerminal(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	for variable, colored := range map[string]bool{"NO_COLOR=": true, "NO_COLOR=1": false, "CLICOLOR=0": false} {
		term := onTerminalWith(t, s.URL, variable, "board", "list")
		term.shows("✓ active")
		term.ends(0)
		if got := strings.Contains(term.raw(), "\x1b[32m✓ active\x1b[0m"); got != colored {
			t.Errorf("%s: got %q, want colours: %v", variable, term.raw(), colored)
		}
	}
	head, err := exec.LookPath("head")
	if err != nil {
		t.Fatal(err)
	}
	term := onTerminalWith(t, s.URL, "PAGER="+head+" -n 2", "settings", "list")
	term.ends(0)
	if n := strings.Count(term.drawn(), "\n"); n != 2 || !strings.HasPrefix(term.drawn(), "SETTING") {
		t.Errorf("got %d lines, want the 2 of the pager: %q", n, term.drawn())
	}
	for _, pager := range []string{"PAGER=", "PAGER=cat", "PAGER=no-such-pager"} {
		term := onTerminalWith(t, s.URL, pager, "settings", "list")
		term.ends(0)
		if n := strings.Count(term.drawn(), "\n"); n < 30 {
			t.Errorf("%s: got %d lines, want all", pager, n)
		}
	}
}

// With --watch each result replaces the one before it.
func TestWatchFlagRedraws(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	term := onTerminal(t, s.URL, "top", "--watch=100ms")
	term.shows("0 of 0 users")
	s.Set(wire.Entry{UserID: "ada", Score: 7})
	term.shows("ada")
	term.press("\x03")
	term.ends(0)
	if raw := term.raw(); strings.Contains(raw, "\x1b[2J") {
		t.Errorf("the screen was erased: %q", raw)
	}
}
