package realtime

import "errors"

// On Windows a socket waits for what it was asked: each connection has a
// goroutine that reads, and one that writes while something is kept.
const canTry = false

func readOnce(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func writeOnce(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func setUserTimeout(uintptr, int) {}
