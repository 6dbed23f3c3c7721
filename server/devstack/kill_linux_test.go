package devstack_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/devstack"
)

func TestKillEndsChildrenAndKeepsData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parent, stack := startParent(t, dir)
	write(t, stack)
	time.Sleep(1100 * time.Millisecond) // Redis syncs its file once a second
	children := descendants(t, parent.Process.Pid)
	if len(children) < 3 {
		t.Fatalf("got processes %v below the parent, want PostgreSQL with its children, and Redis", children)
	}
	kill(t, parent)
	awaitGone(t, children)

	second := start(t, devstack.Options{Dir: dir})
	defer stop(t, second)
	read(t, second)
}

func TestRestartWaitsForOldChildren(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parent, _ := startParent(t, dir)
	kill(t, parent)
	stop(t, start(t, devstack.Options{Dir: dir}))
}

func TestEphemeralDataIsRemovedAfterKill(t *testing.T) {
	t.Parallel()
	parent, stack := startParent(t, "")
	children := descendants(t, parent.Process.Pid)
	folder := dataFolder(t, stack)
	kill(t, parent)
	awaitGone(t, children)
	if exists(folder) {
		t.Errorf("%s exists after the kill", folder)
	}
}

func startParent(t *testing.T, dir string) (*exec.Cmd, *devstack.Stack) {
	t.Helper()
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), parentDir+"="+dir)
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the parent did not start a stack: %v", err)
	}
	stack := new(devstack.Stack)
	if err := json.Unmarshal(line, stack); err != nil {
		t.Fatal(err)
	}
	return parent, stack
}

func kill(t *testing.T, parent *exec.Cmd) {
	t.Helper()
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
}

// descendants lists all processes below pid.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	var all []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			all = append(append(all, child), descendants(t, child)...)
		}
	}
	return all
}

func awaitGone(t *testing.T, pids []int) {
	t.Helper()
	await(t, "all children to end", func() bool {
		for _, pid := range pids {
			if syscall.Kill(pid, 0) == nil && !zombie(pid) {
				return false
			}
		}
		return true
	})
}

// zombie reports whether a process has ended but was not reaped: in a container, init
// may never do so.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("waited 2 s for %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
