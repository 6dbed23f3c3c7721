package process

import (
	"context"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// Windows has neither signals to stop a server nor process groups to end it with its
// children, so no child is started there.

// Unprivileged returns an error: no servers are started on Windows.
func Unprivileged(context.Context, string, ...string) (Account, error) {
	return Account{}, errors.New("servers cannot be started on Windows: " +
		"set the addresses of running ones by flag or environment")
}

// tryLock locks a byte far beyond the end of a file, so that its text can be read, or
// returns errHeld at once.
func tryLock(f *os.File) error {
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(
		windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at,
	)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errHeld
	}
	return err
}

// Owns is always true: only on unix a server may run as another account.
func (a Account) Owns(os.FileInfo) bool { return true }

func ownGroup(attr *syscall.SysProcAttr) { attr.CreationFlags = windows.CREATE_NEW_PROCESS_GROUP }

func killGroup(int) {}

func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}

func freeSpace(string) uint64 { return 0 }
