//go:build linux || darwin

package health

import "syscall"

// diskOf returns the free and the total size of the file system that holds path.
func diskOf(path string) (free, total uint64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, 0, err
	}
	size := uint64(s.Bsize) // positive; its type differs by system
	return s.Bavail * size, s.Blocks * size, nil
}
