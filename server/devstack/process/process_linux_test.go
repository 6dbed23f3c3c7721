package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRootAlternativesEnterPrivateDirectories(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("requires root")
	}
	uid, gid, err := systemAccount()
	if err != nil {
		t.Fatal(err)
	}
	for i, account := range rootAlternatives(uid, gid) {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			closed := t.TempDir()
			if err := os.Chmod(closed, 0o700); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(closed, "data")
			if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, account.UID, account.GID)); err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(closed, "program")
			if err := os.WriteFile(program, []byte("#!/bin/sh\nid -u >id\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			p := startProgram(t, Options{Path: program, Dir: dir, Account: account})
			<-p.Done()
			if !p.Succeeded() {
				t.Fatal(p.Err())
			}
			id, err := os.ReadFile(filepath.Join(dir, "id"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(string(id)); got != strconv.Itoa(uid) {
				t.Errorf("the program ran as %s, want %d", got, uid)
			}
			info, err := os.Stat(filepath.Join(dir, "id"))
			if err != nil {
				t.Fatal(err)
			}
			if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != account.UID {
				t.Errorf("the owner of its file is %d, want %d", owner, account.UID)
			}
		})
	}
}

func TestLockIsHeldUntilLastProcessEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock := filepath.Join(dir, "lock")
	// The shell ends at once, its child later.
	p := startProgram(t, Options{Path: "/bin/sh", Args: []string{"-c", "sleep 0.3 & exit 0"}, Dir: dir, Lock: lock})
	<-p.Done()
	var held *LockedError
	if _, err := Lock(lock); !errors.As(err, &held) {
		t.Fatalf("got %v while a process of the server is running, want a LockedError", err)
	}
	if want := fmt.Sprint(p.PID()); held.Owner != want {
		t.Errorf("got the owner %q, want %s", held.Owner, want)
	}
	next := startProgram(t, Options{Path: "/bin/true", Dir: dir, Lock: lock})
	<-next.Done()
}

func TestStopKillsServerThatIgnoresSignals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startProgram(t, Options{
		Path: "/bin/sh", Args: []string{"-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"}, Dir: dir,
	})
	for ready := []byte{}; len(ready) == 0; time.Sleep(5 * time.Millisecond) {
		ready, _ = os.ReadFile(filepath.Join(dir, "log"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a deadline error", err)
	}
	select {
	case <-p.Done():
	default:
		t.Error("the server is still running")
	}
}

func TestEarlyExitIncludesTheLog(t *testing.T) {
	t.Parallel()
	p := startProgram(t, Options{Path: "/bin/sh", Args: []string{"-c", "echo no such disk; exit 3"}, Dir: t.TempDir()})
	err := p.AwaitReady(t.Context(), func(context.Context) error { return errors.New("not ready") })
	for _, want := range []string{"no such disk", "exit status 3"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to contain %q", err, want)
		}
	}
}

func startProgram(t *testing.T, o Options) *Process {
	t.Helper()
	o.Name, o.Signal, o.Env, o.Log = "program", syscall.SIGTERM, os.Environ(), filepath.Join(o.Dir, "log")
	p, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
