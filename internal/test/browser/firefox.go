package browser

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// Firefox is a tab of a headless Firefox, driven by WebDriver BiDi.
type Firefox struct {
	t       *testing.T
	conn    *websocket.Conn
	tab     string
	command int
}

// NewFirefox starts a browser that ends with the test. No command takes longer than the timeout.
// Without Firefox the test is skipped, and fails in CI.
func NewFirefox(t *testing.T, timeout time.Duration) *Firefox {
	t.Helper()
	path, err := exec.LookPath("firefox-esr")
	if err != nil {
		path, err = exec.LookPath("firefox")
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("Firefox is not installed: run make setup")
		}
		fmt.Fprintf(os.Stderr, "!!! %s SKIPPED: requires Firefox (on Debian: the package firefox-esr)\n", t.Name())
		t.Skip("requires Firefox")
	}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), path, "--headless", "--no-remote", "--profile", home,
		"--remote-debugging-port", "0", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home, "MOZ_CRASHREPORTER_DISABLE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it starts processes of its own
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	output, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Cancel()
		_ = cmd.Wait()
	})
	address := make(chan string, 1)
	go func() {
		listens := regexp.MustCompile(`WebDriver BiDi listening on (ws://\S+)`)
		for s := bufio.NewScanner(output); s.Scan(); {
			if found := listens.FindStringSubmatch(s.Text()); found != nil {
				address <- found[1]
			}
		}
	}()
	f := &Firefox{t: t}
	select {
	case a := <-address:
		conn, answer, err := websocket.DefaultDialer.DialContext(t.Context(), a+"/session", nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		f.conn = conn
	case <-time.After(timeout):
		t.Fatal("Firefox did not start")
	}
	t.Cleanup(func() { _ = f.conn.Close() })
	if err := f.conn.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	f.send("session.new", map[string]any{"capabilities": map[string]any{}}, nil)
	var tree struct {
		Contexts []struct{ Context string }
	}
	f.send("browsingContext.getTree", map[string]any{}, &tree)
	f.tab = tree.Contexts[0].Context
	return f
}

// send sends a command and reads its result; events are ignored.
func (f *Firefox) send(method string, params, result any) {
	f.t.Helper()
	f.command++
	if err := f.conn.WriteJSON(map[string]any{"id": f.command, "method": method, "params": params}); err != nil {
		f.t.Fatal(err)
	}
	for {
		var answer struct {
			ID             int
			Type           string
			Error, Message string
			Result         json.RawMessage
		}
		if err := f.conn.ReadJSON(&answer); err != nil {
			f.t.Fatalf("%s: %v", method, err)
		}
		switch {
		case answer.Type == "error":
			f.t.Fatalf("%s: %s: %s", method, answer.Error, answer.Message)
		case answer.ID != f.command:
			continue
		case result != nil:
			if err := json.Unmarshal(answer.Result, result); err != nil {
				f.t.Fatal(err)
			}
		}
		return
	}
}

// Open navigates to a page and waits until it has loaded.
func (f *Firefox) Open(url string) {
	f.t.Helper()
	f.send("browsingContext.navigate", map[string]any{"context": f.tab, "url": url, "wait": "complete"}, nil)
}

// Value returns what an expression is in the page, as text. An exception fails the test.
func (f *Firefox) Value(expression string) string {
	f.t.Helper()
	var answer struct {
		Type             string
		Result           struct{ Value string }
		ExceptionDetails struct{ Text string }
	}
	f.send("script.evaluate", map[string]any{
		"expression": "String(" + expression + ")", "target": map[string]any{"context": f.tab}, "awaitPromise": true,
	}, &answer)
	if answer.Type != "success" {
		f.t.Fatalf("%s: %s", expression, answer.ExceptionDetails.Text)
	}
	return answer.Result.Value
}
