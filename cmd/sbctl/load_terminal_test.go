//go:build unix

package main

import (
	"testing"

	"github.com/scoreboard/scoreboard/client/clienttest"
)

// A load is watched at a terminal, and Ctrl-C ends it with a report of what
// there is.
func TestALoadAtATerminal(t *testing.T) {
	t.Parallel()
	term := atTerminal(t, clienttest.New(t), "load", "run", "--rate", "50", "--duration", "1h")
	term.shows("rate: 50")
	term.shows("asked / answered")
	term.shows("of 1h0m0s")
	term.press("\x03")
	term.shows("it was ended before its time")
	term.shows("increments, from due")
	term.ends(130)
}
