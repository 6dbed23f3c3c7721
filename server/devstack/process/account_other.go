//go:build unix && !linux

package process

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// Unprivileged returns the parent's own account, which must not be root: user
// namespaces are Linux's.
func Unprivileged(context.Context, string, ...string) (Account, error) {
	if os.Geteuid() == 0 {
		return Account{}, errors.New("on this system the servers do not run as root: use another account")
	}
	return Account{UID: os.Geteuid(), GID: os.Getegid()}, nil
}

// There is no death signal here: after a kill -9 of the parent the child has
// to be ended by hand, and the next start names its process id.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
