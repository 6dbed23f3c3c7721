//go:build unix

package main

import (
	"testing"

	"github.com/scoreboard/scoreboard/client/clienttest"
)

// On a terminal a load shows its progress, and Ctrl-C ends it with a report.
func TestLoadOnATerminal(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, clienttest.New(t).URL, "load", "run", "--rate", "50", "--duration", "1h",
		"--out", t.TempDir())
	term.shows("rate: 50")
	term.shows("target / answered")
	term.shows("of 1h0m0s")
	term.press("\x03")
	term.shows("the run was ended early")
	term.shows("increments from scheduled time")
	term.ends(130)
}
