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

// capDACOverride is the capability that lets an account pass through folders
// that are closed to it, such as a 0700 home of root. Containers have it.
const capDACOverride = 1

// Unprivileged returns an account as which a program that refuses root runs.
// Without root that is the parent's own. With root it is, in this order: root
// seen as a system account inside a user namespace, so that files stay root's;
// or that account itself, where a sandbox forbids namespaces. Which one works
// is found out by running path with args, which should do nothing, as it.
func Unprivileged(ctx context.Context, path string, args ...string) (Account, error) {
	if os.Geteuid() != 0 {
		return Account{UID: os.Geteuid(), GID: os.Getegid()}, nil
	}
	uid, gid, err := systemAccount()
	if err != nil {
		return Account{}, err
	}
	for _, account := range insteadOfRoot(uid, gid) {
		cmd := exec.CommandContext(ctx, path, args...)
		account.prepare(cmd, "/")
		if err = cmd.Run(); err == nil {
			return account, nil
		}
	}
	return Account{}, fmt.Errorf("run %s as another account than root: %w", path, err)
}

// insteadOfRoot are the ways of root to run a program as another account.
func insteadOfRoot(uid, gid int) []Account {
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

// systemAccount finds an account that every distribution has. It must stand
// in the passwd file: PostgreSQL looks up its own name.
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
	return 0, 0, fmt.Errorf("no account postgres, nobody or daemon to run as instead of root")
}

func setDeathSignal(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
