package process

import (
	"os/exec"
	"syscall"
)

// Account is the account a child runs as; the zero value is the parent's.
type Account struct {
	// UID and GID must own the files that the child writes, as the parent
	// sees them.
	UID, GID int
	attr     func(*syscall.SysProcAttr)
	// byShell: the capabilities take effect only once a program runs as the
	// account, so a shell changes the directory and starts the program.
	byShell bool
}

// prepare makes the command run as the account, in dir.
func (a Account) prepare(cmd *exec.Cmd, dir string) {
	cmd.SysProcAttr = new(syscall.SysProcAttr)
	if a.attr != nil {
		a.attr(cmd.SysProcAttr)
	}
	cmd.Dir = dir
	if a.byShell {
		cmd.Args = append([]string{"sh", "-c", `cd "$0" && exec "$@"`, dir, cmd.Path}, cmd.Args[1:]...)
		cmd.Path, cmd.Dir = "/bin/sh", "/"
	}
}
