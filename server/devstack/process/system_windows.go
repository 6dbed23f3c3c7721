package process

import (
	"context"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// Windows has no signals to stop a server by, nor groups to end one with its
// children. So no child is started there, and what is below has none to treat.

// Unprivileged refuses: see above.
func Unprivileged(context.Context, string, ...string) (Account, error) {
	return Account{}, errors.New("on Windows no servers are started: name those that there are by flag or environment")
}

// tryLock locks a byte far behind the end of a file, so that its text can be
// read, or says errHeld at once.
func tryLock(f *os.File) error {
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(
		windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0,
		1,
		0,
		at,
	)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errHeld
	}
	return err
}

// Owns is for the unix systems, where a server has an account of its own.
func (a Account) Owns(os.FileInfo) bool { return true }

func ownGroup(attr *syscall.SysProcAttr) { attr.CreationFlags = windows.CREATE_NEW_PROCESS_GROUP }

func killGroup(int) {}

func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}

func freeSpace(string) uint64 { return 0 }
