// Package process runs servers as foreground children that cannot outlive
// their parent.
//
// Promise: however the parent ends, kill -9 included, the child is told to
// shut down (on Linux by the kernel's death signal), and a folder made by
// TempDir is removed. A lock file that the child inherits is held until the
// last process of that server has ended, so that two of them never work on
// the same data.
//
// Owner: who calls Start or TempDir must call Stop or the returned clean-up.
// On failure the child's output is in its log file; Err carries the last of it.
package process
