package process

import "syscall"

// Account is who a child runs as; the zero value is the parent's own account.
type Account struct {
	// UID and GID must own the files that the child writes, as the parent
	// sees them.
	UID, GID int
	attr     func(*syscall.SysProcAttr)
}

func (a Account) apply(attr *syscall.SysProcAttr) {
	if a.attr != nil {
		a.attr(attr)
	}
}
