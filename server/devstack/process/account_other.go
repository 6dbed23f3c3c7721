//go:build unix && !linux

package process

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// Unprivileged returns the parent's account, which must not be root: user namespaces
// exist only on Linux.
func Unprivileged(context.Context, string, ...string) (Account, error) {
	if os.Geteuid() == 0 {
		return Account{}, errors.New("servers cannot be started as root on this system: use another account")
	}
	return Account{UID: os.Geteuid(), GID: os.Getegid()}, nil
}

// Without a death signal, the child outlives a kill -9 of the parent and must be ended
// manually. The next start names its process id.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
