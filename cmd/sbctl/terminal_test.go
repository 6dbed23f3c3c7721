//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

// terminal runs sbctl on a pseudo-terminal of 100x30.
type terminal struct {
	t    *testing.T
	file *os.File
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	out bytes.Buffer // since the last key
}

func onTerminal(t *testing.T, url string, args ...string) *terminal {
	t.Helper()
	return onTerminalWith(t, url, "TERM=xterm-256color", args...)
}

// onTerminalWith sets one more environment variable.
func onTerminalWith(t *testing.T, url, variable string, args ...string) *terminal {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Args = append([]string{"sbctl"}, args...) // the name makes the test binary be sbctl
	cmd.Env = []string{
		"SBCTL_SERVER=" + url, "SBCTL_TOKEN=" + instance.Token("zoe", "score:admin score:update"),
		"HOME=" + t.TempDir(),
		"GORACE=atexit_sleep_ms=0", "SBCTL_KEY_ID=" + instance.KeyID, "SBCTL_KEY_SECRET=" + instance.Secret,
		"TERM=xterm-256color", variable, // of duplicates the last one counts
	}
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, file: file, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(term.done)
		b := make([]byte, 4096)
		for {
			n, err := file.Read(b)
			term.mu.Lock()
			term.out.Write(b[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = file.Close()
		<-term.done
	})
	return term
}

// drawn is the output since the last key, without escape sequences.
func (term *terminal) drawn() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return ansi.Strip(term.out.String())
}

// raw is the output since the last key, with escape sequences.
func (term *terminal) raw() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.out.String()
}

// shows waits until the output since the last key contains the text.
func (term *terminal) shows(text string) {
	term.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		if strings.Contains(term.drawn(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	term.t.Fatalf("%q not drawn; output:\n%s", text, term.drawn())
}

// press types keys and discards earlier output.
func (term *terminal) press(keys string) {
	term.t.Helper()
	term.mu.Lock()
	term.out.Reset()
	term.mu.Unlock()
	if _, err := io.WriteString(term.file, keys); err != nil {
		term.t.Fatal(err)
	}
}

// ends waits for the program and checks its exit code.
func (term *terminal) ends(want int) {
	term.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- term.cmd.Wait() }()
	select {
	case err := <-ended:
		<-term.done // all output is read
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			term.t.Fatal(err)
		}
		if got := term.cmd.ProcessState.ExitCode(); got != want {
			term.t.Errorf("exit code: got %d, want %d; output:\n%s", got, want, term.drawn())
		}
	case <-time.After(5 * time.Second):
		term.t.Fatal("the program did not end within 5 s")
	}
}

func TestWatchOnATerminal(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	s.Set(wire.Entry{UserID: "alice", Score: 1500}, wire.Entry{UserID: "zoe", Score: 2})
	term := onTerminal(t, s.URL, "watch")
	term.shows("● live")
	term.shows("alice")
	term.shows("1,500")
	term.shows("zoe (you)")
	term.press("p")
	term.shows("paused")
	term.press("p")
	s.Set(wire.Entry{UserID: "bob", Score: 9000})
	term.shows("bob")
	term.shows("▼1")
	term.shows("bob entered at #1")
	term.press("?")
	term.shows("find a player")
	term.press("/ali")
	term.shows("find: ali")
	term.press("\r")
	term.shows("#2 of 3")
	term.shows("statement")
	term.press("y")
	term.shows("copied")
	if raw := term.raw(); !strings.Contains(raw, ansi.SetSystemClipboard("alice is 2nd of 3, 1,500 points")) {
		t.Errorf("the clipboard was not set: %q", raw)
	}
	term.press("\x1b")
	term.shows("standings")
	term.press("b")
	term.shows("enter watch")
	term.press("b") // close the list
	term.shows("alice")
	term.press("a")
	term.shows("ban player alice")
	term.press("\x1b")
	term.shows("│   ") // the empty lines under the menu
	term.press("o")    // without the health line the table moves up
	term.shows("score")
	term.press("o")
	term.shows("healthy")
	s.Disconnect(nil)
	term.shows("1 reconnect")
	term.press("q")
	term.ends(0)
	term.mu.Lock()
	defer term.mu.Unlock()
	if !strings.Contains(term.out.String(), "\x1b[?1049l") || !strings.Contains(term.out.String(), "\x1b[?25h") {
		t.Errorf("the terminal was left on the alternate screen or without a cursor: %q", term.out.String())
	}
}

func TestWatchEndsWithASignal(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	for _, how := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		term := onTerminal(t, s.URL, "watch")
		term.shows("● live")
		if err := term.cmd.Process.Signal(how); err != nil {
			t.Fatal(err)
		}
		term.ends(0)
	}
}

func TestTerminalEnvironment(t *testing.T) {
	t.Parallel()
	const colour = "\x1b[38;2;" // of the terminal's true colours
	s := instance.New(t)
	s.Set(wire.Entry{UserID: "alice", Score: 1500})
	for _, tc := range []struct {
		variable        string
		coloured, moves bool
	}{{"COLORTERM=truecolor", true, true}, {"NO_COLOR=1", false, true}, {"TERM=dumb", false, false}} {
		term := onTerminalWith(t, s.URL, tc.variable, "watch")
		term.shows("alice")
		if err := term.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		term.ends(0)
		raw := term.out.String()
		if got := strings.Contains(raw, colour); got != tc.coloured {
			t.Errorf("%s: coloured %v, want %v: %q", tc.variable, got, tc.coloured, raw)
		}
		if got := strings.Contains(raw, "\x1b[?1049h"); got != tc.moves {
			t.Errorf("%s: live screen %v, want %v: %q", tc.variable, got, tc.moves, raw)
		}
	}
}

// This terminal does not answer queries, so a program that sends one would wait.
func TestNoTerminalQueries(t *testing.T) {
	t.Parallel()
	began := time.Now()
	term := onTerminal(t, "http://127.0.0.1:1", "version")
	term.ends(0)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
	if raw := term.out.String(); strings.Contains(raw, "\x1b]11") || strings.Contains(raw, "\x1b[6n") {
		t.Errorf("the terminal was queried: %q", raw)
	}
}

// A destructive command asks for confirmation.
func TestRevokeAsksForConfirmation(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	term := onTerminal(t, s.URL, "key", "revoke", "k1")
	term.shows("Revoke key k1?")
	term.press("n\r")
	term.shows("not confirmed")
	term.ends(1)
	term = onTerminal(t, s.URL, "key", "revoke", "k1")
	term.shows("[y/N]")
	term.press("\x03")
	term.ends(130)
	term = onTerminal(t, s.URL, "key", "revoke", "k1")
	term.shows("[y/N]")
	term.press("y\r")
	term.shows("key k1 is revoked")
	term.ends(0)
}
