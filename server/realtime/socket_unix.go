//go:build unix

package realtime

import "syscall"

// canTry says that a read or a write that would wait can be left.
const canTry = true

// tcpUserTimeout is Linux's TCP_USER_TIMEOUT, which syscall does not name.
const tcpUserTimeout = 0x12

func readOnce(fd uintptr, p []byte) (int, error) { return syscall.Read(int(fd), p) }

func writeOnce(fd uintptr, p []byte) (int, error) { return syscall.Write(int(fd), p) }

func setUserTimeout(fd uintptr, ms int) {
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, ms)
}
