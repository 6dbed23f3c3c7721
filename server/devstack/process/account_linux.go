package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// capDACOverride is the capability to enter directories regardless of permissions,
// such as a 0700 home of root. Containers have it.
const capDACOverride = 1

// Unprivileged returns an account for a program that does not run as root. If the
// parent is not root, that is the parent's account. Otherwise it is the first that
// works of: root mapped to a system account in a user namespace, so that files stay
// root's; and that account itself, for sandboxes without namespaces. It tests them
// by running path with args, which should do nothing.
func Unprivileged(ctx context.Context, path string, args ...string) (Account, error) {
	if os.Geteuid() != 0 {
		return Account{UID: os.Geteuid(), GID: os.Getegid()}, nil
	}
	uid, gid, err := systemAccount()
	if err != nil {
		return Account{}, err
	}
	for _, account := range rootAlternatives(uid, gid) {
		cmd := exec.CommandContext(ctx, path, args...)
		account.prepare(cmd, "/")
		if err = cmd.Run(); err == nil {
			return account, nil
		}
	}
	return Account{}, fmt.Errorf("run %s as an account other than root: %w", path, err)
}

// rootAlternatives returns the accounts that root can run a program as.
func rootAlternatives(uid, gid int) []Account {
	return []Account{
		{UID: 0, GID: 0, attr: func(a *syscall.SysProcAttr) {
			a.Cloneflags |= syscall.CLONE_NEWUSER
			a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: 0, Size: 1}}
			a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: 0, Size: 1}}
		}},
		{UID: uid, GID: gid, byShell: true, attr: func(a *syscall.SysProcAttr) {
			a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
			a.AmbientCaps = []uintptr{capDACOverride}
		}},
	}
}

// systemAccount finds a common system account. It must be in the passwd file:
// PostgreSQL looks up its own name.
func systemAccount() (uid, gid int, err error) {
	for _, name := range []string{"postgres", "nobody", "daemon"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return uid, gid, nil
		}
	}
	return 0, 0, fmt.Errorf("cannot run as root, and no account named postgres, nobody or daemon exists")
}

func setDeathSignal(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
