//go:build unix

package process

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a file, or returns errHeld at once.
func tryLock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errHeld
	}
	return err
}

// ownGroup isolates a child from signals of the terminal.
func ownGroup(attr *syscall.SysProcAttr) { attr.Setpgid = true }

// killGroup ends a child and its own children.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// Owns reports whether a file belongs to the account.
func (a Account) Owns(file os.FileInfo) bool {
	owner, ok := file.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == a.UID
}

// freeSpace returns the free bytes at a path, or 0 if unknown.
func freeSpace(path string) uint64 {
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) != nil {
		return 0
	}
	return fs.Bavail * uint64(fs.Bsize)
}
