package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// errHeld is returned for a file that another process has locked.
var errHeld = errors.New("locked by another process")

// LockedError names a locked file and the process in it.
type LockedError struct {
	Path  string
	Owner string // a process id; empty: not known yet
}

func (e *LockedError) Error() string {
	if e.Owner == "" {
		return e.Path + " is locked by another process"
	}
	return fmt.Sprintf("%s is locked by process %s", e.Path, e.Owner)
}

// Lock takes the exclusive lock of the file at path, or returns a *LockedError at
// once. The operating system releases it when all processes that inherited the file
// have closed it, so kill -9 leaves no stale lock.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	if err := tryLock(f); err != nil {
		defer func() { _ = f.Close() }()
		if !errors.Is(err, errHeld) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		owner, _ := io.ReadAll(io.LimitReader(f, 32))
		return nil, &LockedError{Path: path, Owner: strings.TrimSpace(string(owner))}
	}
	return f, nil
}

// WaitLock is like Lock but waits until ctx ends.
func WaitLock(ctx context.Context, path string) (*os.File, error) {
	for {
		lock, err := Lock(path)
		var held *LockedError
		if !errors.As(err, &held) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// ErrNotHeld is returned for a lock that nobody holds.
var ErrNotHeld = errors.New("not locked")

// KillOwner kills the process that WriteOwner has named in a locked file, and waits until its
// children have ended, too.
func KillOwner(path string) error {
	lock, err := Lock(path)
	var held *LockedError
	switch {
	case err == nil:
		_ = lock.Close()
		return ErrNotHeld
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotHeld
	case !errors.As(err, &held):
		return err
	}
	pid, err := strconv.Atoi(held.Owner)
	if err != nil || pid <= 1 {
		return fmt.Errorf("%s names no process", path)
	}
	killGroup(pid)
	if lock, err = waitIfAny(context.Background(), path); err != nil {
		return fmt.Errorf("wait for the end of process %d: %w", pid, err)
	}
	return lock.Close()
}

// WriteOwner writes the owner's process id into the lock file, for error messages.
func WriteOwner(lock *os.File, pid int) error {
	if err := lock.Truncate(0); err != nil {
		return fmt.Errorf("write the owner into the lock: %w", err)
	}
	if _, err := lock.WriteAt(fmt.Appendf(nil, "%d\n", pid), 0); err != nil {
		return fmt.Errorf("write the owner into the lock: %w", err)
	}
	return nil
}
