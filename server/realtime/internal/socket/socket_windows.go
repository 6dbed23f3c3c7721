package socket

import "errors"

// nonBlocking is false on Windows: each connection has a goroutine that reads, and
// one that writes while bytes are pending.
const nonBlocking = false

func readOnce(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func writeOnce(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func setUserTimeout(uintptr, int) {}
