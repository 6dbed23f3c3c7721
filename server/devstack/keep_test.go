package devstack

import (
	"context"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// A child that ends again and again is given up and reported.
func TestChildThatKeepsEndingIsGivenUp(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("false")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	starts := 0
	start := func(ctx context.Context) (*process.Process, error) {
		starts++
		return process.Start(ctx, process.Options{Name: "the child", Path: program, Log: log})
	}
	first, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &Stack{died: make(chan error, 1), stopping: make(chan struct{})}
	var stop func(context.Context) error
	s.keep(func(f func(context.Context) error) { stop = f }, slog.New(slog.DiscardHandler),
		&kept{name: "the child", delay: time.Millisecond, now: first, start: start})
	select {
	case err := <-s.died:
		if !strings.Contains(err.Error(), "the child") || starts != maxRestarts+1 {
			t.Errorf("got %v after %d starts, want the child's end after %d", err, starts, maxRestarts+1)
		}
	case <-time.After(30 * time.Second):
		t.Error("the child was not given up")
	}
	close(s.stopping)
	if err := stop(t.Context()); err != nil {
		t.Error(err)
	}
}
