package main

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// launchPiped runs the daemon with its log in a pipe, and waits until it is ready.
func (h *harness) launchPiped(args ...string) (d *daemon, read *os.File) {
	h.t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = read.Close() })
	h.logTo = write
	d = h.start(args...)
	h.logTo = nil
	_ = write.Close() // the daemon has its own
	return d, read
}

func (d *daemon) status(path string) int {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.ops+path, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Error(err)
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// stopsIn checks that SIGTERM ends the daemon within a time, and without an error.
func (d *daemon) stopsIn(limit time.Duration) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Fatal(err)
	}
	select {
	case err := <-d.done:
		if err != nil {
			d.t.Errorf("the daemon ended with %v", err)
		}
	case <-time.After(limit):
		d.t.Errorf("the daemon runs %s after SIGTERM", limit)
	}
}

// stopLimit is the longest that a stop may take.
const stopLimit = 30 * time.Second

// A daemon whose log nobody reads any more goes on, and ends when it is told to.
func TestLogPipeIsClosed(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, read := h.launchPiped("--log-level", "debug", "--transport", "direct")
	_ = read.Close()
	eventually(t, "lines to be dropped", func() error {
		if got := d.status("/readyz"); got != http.StatusOK {
			t.Fatalf("got %d, want the daemon to go on", got)
		}
		return d.dropsLines()
	})
	d.stopsIn(stopLimit)
}

// A full log pipe delays neither requests nor the end.
func TestLogPipeIsFull(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d, _ := h.launchPiped("--log-level", "debug", "--transport", "direct")
	long, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		d.url+"/v1/leaderboard/top?cursor="+strings.Repeat("x", 4<<10), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	long.Header.Set("Authorization", "Bearer "+h.token("alice", ""))
	eventually(t, "lines to be dropped", func() error {
		for range 200 {
			res, err := (&http.Client{Timeout: stopLimit}).Do(long)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusBadRequest {
				t.Fatalf("got %d", res.StatusCode)
			}
		}
		return d.dropsLines()
	})
	if got := d.status("/readyz"); got != http.StatusOK {
		t.Errorf("got %d, want the daemon ready", got)
	}
	d.stopsIn(stopLimit)
}

// dropsLines returns nil if the metrics say that lines of the log were dropped.
func (d *daemon) dropsLines() error {
	text, err := d.metrics()
	if err != nil {
		return err
	}
	m := regexp.MustCompile(`(?m)^scoreboard_log_dropped_total (\S+)$`).FindStringSubmatch(text)
	if m == nil || m[1] == "0" {
		return fmt.Errorf("got %q", m)
	}
	return nil
}

// A daemon that is told to end says first that it is not ready, and answers new
// connections until drain.delay has passed.
func TestDrainDelay(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start("--drain-delay", "5s", "--transport", "direct")
	began := time.Now()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the daemon not to be ready", func() error {
		if got := d.status("/readyz"); got != http.StatusServiceUnavailable {
			return fmt.Errorf("got %d", got)
		}
		return nil
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answered := 0
	for {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+"/docs", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			break // it refuses connections
		}
		_ = res.Body.Close()
		answered++
		time.Sleep(20 * time.Millisecond)
	}
	if took := time.Since(began); took < 5*time.Second || answered == 0 {
		t.Errorf("%d requests were answered, and connections refused after %s, want 5s", answered, took)
	}
	if err := <-d.done; err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
}
