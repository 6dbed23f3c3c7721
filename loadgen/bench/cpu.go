package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc: USER_HZ, which is 100 on Linux.
const tick = 10 * time.Millisecond

// cpuOf adds up the CPU time of a process and all that descend from it, the
// reaped ones included.
func cpuOf(pid int) time.Duration {
	children := make(map[int][]int)
	times := make(map[int]time.Duration)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		text := string(b)
		fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		id, _ := strconv.Atoi(strings.Split(path, "/")[2])
		parent, _ := strconv.Atoi(fields[1])
		var ticks int64
		for _, i := range []int{11, 12, 13, 14} { // utime, stime, and the children's
			n, _ := strconv.ParseInt(fields[i], 10, 64)
			ticks += n
		}
		children[parent] = append(children[parent], id)
		times[id] = time.Duration(ticks) * tick
	}
	total := time.Duration(0)
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		total += times[todo[0]]
		todo = append(todo, children[todo[0]]...)
	}
	return total
}

// residentOf is the resident memory of a process, in MiB.
func residentOf(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib / 1024
		}
	}
	return 0
}
