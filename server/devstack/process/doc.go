// Package process runs servers as foreground child processes that do not outlive
// their parent.
//
// Promise: when the parent ends, even by kill -9, the child gets a signal to shut
// down (on Linux the kernel's death signal), and a directory created by TempDir is
// removed. The child inherits a lock file that stays locked until the last process
// of the server has ended, so two servers never use the same data.
//
// Owner: the caller of Start or TempDir must call Stop or the returned cleanup. On
// failure the child's output is in its log file; Err includes the end of it.
package process
