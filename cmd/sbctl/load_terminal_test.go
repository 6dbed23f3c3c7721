//go:build unix

package main

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/instance"
)

// On a terminal a load shows its progress, and Ctrl-C ends it with a report.
func TestLoadOnATerminal(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, instance.New(t).URL, "load", "run", "--rate", "50", "--duration", "1h",
		"--out", t.TempDir())
	term.shows("rate: 50")
	term.shows("target / answered")
	term.shows("of 1h0m0s")
	term.press("\x03")
	term.shows("the run was ended early")
	term.shows("increments from scheduled time")
	term.ends(130)
}

// The second Ctrl-C ends a load at once, although requests are in flight.
func TestLoadEndsAtSecondInterrupt(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	term := onTerminal(t, s.URL, "load", "run", "--rate", "50", "--duration", "1h", "--out", t.TempDir())
	term.shows("of 1h0m0s")
	s.Hang(1000)
	for was := len(s.Seen()); len(s.Seen()) < was+10; {
		time.Sleep(10 * time.Millisecond) // until requests wait for their responses
	}
	term.press("\x03")
	time.Sleep(500 * time.Millisecond) // two signals at once are one
	select {
	case <-term.done:
		t.Fatal("the program did not wait for the requests in flight")
	default:
	}
	began := time.Now()
	term.press("\x03")
	term.ends(-1) // by the signal
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}
