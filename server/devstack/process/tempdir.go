package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// ramDisk is used for temporary data if this much of it is free: in containers it
// often has 64 MiB, too little for a database.
const (
	ramDisk     = "/dev/shm"
	ramDiskFree = 1 << 30
)

// The shell's standard input is a pipe from the parent, so read blocks until the
// parent has ended. The delay lets the servers handle their death signal before the
// directory is removed.
const removeLater = `read -r _; sleep 0.5; n=0
while [ -e "$0" ] && [ $n -lt 20 ]; do rm -rf "$0" 2>/dev/null; n=$((n+1)); sleep 0.1; done`

// TempDir creates a temporary directory, on a RAM disk if possible. remove removes
// it; if this process is killed first, a shell does.
func TempDir(pattern string) (dir string, remove func() error, err error) {
	parent := os.TempDir()
	if freeSpace(ramDisk) >= ramDiskFree {
		parent = ramDisk
	}
	dir, err = os.MkdirTemp(parent, pattern)
	if err != nil && parent == ramDisk { // not writable
		dir, err = os.MkdirTemp(os.TempDir(), pattern)
	}
	if err != nil {
		return "", nil, fmt.Errorf("create a temporary directory: %w", err)
	}
	shell := exec.Command("/bin/sh", "-c", removeLater, dir) //nolint:noctx // it must outlive this process
	shell.Env = []string{"PATH=/usr/bin:/bin"}               // for rm and sleep
	shell.SysProcAttr = new(syscall.SysProcAttr)
	ownGroup(shell.SysProcAttr)
	pipe, err := shell.StdinPipe()
	if err == nil {
		err = shell.Start()
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("start the cleanup of %s: %w", dir, err), os.RemoveAll(dir))
	}
	return dir, func() error {
		_ = shell.Process.Kill()
		_ = pipe.Close()
		_ = shell.Wait()
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove %s: %w", dir, err)
		}
		return nil
	}, nil
}
