package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// usage is the CPU time of the processes at a time.
type usage struct {
	start   time.Time
	cpu     map[string]time.Duration
	machine machineTime

	compilers time.Duration // of the broker
}

// processes are the process ids of the installation.
func (r *rig) processes() map[string]int {
	p := map[string]int{
		"scoreboardd": r.daemon.Process.Pid,
		"PostgreSQL":  r.Postgres.PID(),
		"Kafka":       r.Kafka.PID(),
		"Redis":       r.Redis.PID(),
	}
	if r.prometheus != 0 {
		p["Prometheus"] = r.prometheus
	}
	return p
}

func (r *rig) startUsage() *usage {
	m := &usage{
		start: time.Now(), cpu: map[string]time.Duration{}, machine: readMachine(), compilers: r.compilers(),
	}
	for name, pid := range r.processes() {
		m.cpu[name] = cpuOf(pid)
	}
	return m
}

// print prints the CPU time of each process since then, and the load of the
// machine.
func (m *usage) print(r *rig, generator time.Duration, increments float64) {
	took := time.Since(m.start)
	r.printf("\n| process | CPU s | of the machine | µs per increment | MiB |\n|---|---|---|---|---|\n")
	line := func(name string, used time.Duration, resident string) {
		r.printf(
			"| %s | %.1f | %.1f %% | %.1f | %s |\n",
			name, used.Seconds(), shareOf(used, took),
			float64(used.Microseconds())/max(increments, 1), resident,
		)
	}
	pids := r.processes()
	sum := generator
	for _, name := range []string{"scoreboardd", "PostgreSQL", "Kafka", "Redis", "Prometheus"} {
		pid, ok := pids[name]
		if !ok {
			continue
		}
		used := cpuOf(pid) - m.cpu[name]
		sum += used
		line(name, used, strconv.FormatInt(residentOf(pid), 10))
	}
	line("generator", generator, "")
	line("sum", sum, "")
	busy, waiting := m.machine.since(readMachine())
	r.printf(
		"\nThe CPU was busy for %.1f %% of %v, including the time after the load, "+
			"and waited for the disk for %.1f %%.\n",
		busy,
		took.Round(time.Second),
		waiting,
	)
	r.printf("The broker's compilers took %.1f %% of it.\n", shareOf(r.compilers()-m.compilers, took))
	if busy > 90 {
		r.println("The CPU was the limit.")
	} else if waiting > 20 {
		r.println("The disk was the limit.")
	}
}

// machineTime is the time of all CPUs, in ticks.
type machineTime struct{ busy, idle, waiting int64 }

func readMachine() (m machineTime) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return m
	}
	first, _, _ := strings.Cut(string(b), "\n")
	for i, text := range strings.Fields(first)[1:] {
		n, _ := strconv.ParseInt(text, 10, 64)
		switch {
		case i == 3:
			m.idle = n
		case i == 4:
			m.waiting = n
		case i < 8: // guest time is part of user time
			m.busy += n
		}
	}
	return m
}

// since returns percentages.
func (m machineTime) since(now machineTime) (busy, waiting float64) {
	all := float64(now.busy + now.idle + now.waiting - m.busy - m.idle - m.waiting)
	if all == 0 {
		return 0, 0
	}
	return 100 * float64(now.busy-m.busy) / all, 100 * float64(now.waiting-m.waiting) / all
}

// tick is the unit of CPU times in /proc: USER_HZ, which is 100 on Linux.
const tick = 10 * time.Millisecond

// cpuOf is the CPU time of a process and its descendants, including ended ones.
func cpuOf(pid int) time.Duration {
	children := make(map[int][]int)
	times := make(map[int]time.Duration)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
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
