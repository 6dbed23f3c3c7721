//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
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

// A terminal without control sequences (an editor's shell, a log) gets lines and no others.
func TestDumbTerminalGetsLines(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	term := onTerminalWith(t, s.URL, "TERM=dumb", "load", "run", "--rate", "20", "--duration", "2s", "--out",
		t.TempDir())
	term.shows("target 20/s")
	term.ends(0)
	file := filepath.Join(t.TempDir(), "events.ndjson")
	if err := os.WriteFile(file, []byte(`{"user_id":"ada","delta":5}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	submit := onTerminalWith(t, s.URL, "TERM=dumb", "score", "submit", "--file", file)
	submit.ends(0)
	s.Set(wire.Entry{UserID: "alice", Score: 1500})
	top := onTerminalWith(t, s.URL, "TERM=dumb", "top")
	top.shows("alice")
	top.ends(0)
	watch := onTerminalWith(t, s.URL, "TERM=dumb", "watch")
	watch.shows("alice")
	if err := watch.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	watch.ends(0)
	for _, shown := range []*terminal{term, submit, top, watch} {
		shown.mu.Lock()
		if text := shown.out.String(); strings.Contains(text, "\x1b") {
			t.Errorf("a dumb terminal got control sequences: %q", text)
		}
		shown.mu.Unlock()
	}
}
