//go:build linux || darwin

package server

import "syscall"

// diskOf returns the free and the whole size of the file system of a folder.
func diskOf(path string) (free, total uint64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, 0, err
	}
	size := uint64(s.Bsize) // positive; its type differs by system
	return s.Bavail * size, s.Blocks * size, nil
}
