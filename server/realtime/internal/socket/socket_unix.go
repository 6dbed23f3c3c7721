//go:build unix

package socket

import "syscall"

// nonBlocking: a read or write that would block returns instead.
const nonBlocking = true

// tcpUserTimeout is Linux's TCP_USER_TIMEOUT, which package syscall lacks.
const tcpUserTimeout = 0x12

func readOnce(fd uintptr, p []byte) (int, error) { return syscall.Read(int(fd), p) }

func writeOnce(fd uintptr, p []byte) (int, error) { return syscall.Write(int(fd), p) }

func setUserTimeout(fd uintptr, ms int) {
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, ms)
}
