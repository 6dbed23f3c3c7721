package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// ramDisk is used for temporary data when this much of it is free: containers
// often have one of 64 MiB, which a database fills at once.
const (
	ramDisk     = "/dev/shm"
	ramDiskFree = 1 << 30
)

// The shell's standard input is a pipe from the parent, so it sleeps until the
// parent has ended, however that came. Then the servers get a moment to see
// their death signal before the folder goes.
const removeLater = `read -r _; sleep 0.5; n=0
while [ -e "$0" ] && [ $n -lt 20 ]; do rm -rf "$0" 2>/dev/null; n=$((n+1)); sleep 0.1; done`

// TempDir makes a folder for data that nobody wants to keep, on a RAM disk
// where there is one. remove removes it; if this process is killed first, a
// small shell does.
func TempDir(pattern string) (dir string, remove func() error, err error) {
	parent := os.TempDir()
	if freeSpace(ramDisk) >= ramDiskFree {
		parent = ramDisk
	}
	dir, err = os.MkdirTemp(parent, pattern)
	if err != nil && parent == ramDisk { // there, but not for us
		dir, err = os.MkdirTemp(os.TempDir(), pattern)
	}
	if err != nil {
		return "", nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	shell := exec.Command("/bin/sh", "-c", removeLater, dir) //nolint:noctx // it outlives this process on purpose
	shell.Env = []string{"PATH=/usr/bin:/bin"}               // rm and sleep, whatever the caller's says
	shell.SysProcAttr = new(syscall.SysProcAttr)
	ownGroup(shell.SysProcAttr)
	pipe, err := shell.StdinPipe()
	if err == nil {
		err = shell.Start()
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("watch over %s: %w", dir, err), os.RemoveAll(dir))
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
