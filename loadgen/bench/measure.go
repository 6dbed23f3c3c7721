package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// measurement is what the processes had used when it began.
type measurement struct {
	began   time.Time
	cpu     map[string]time.Duration
	machine machineTime
}

// processes are those of the rig.
func (r *rig) processes() map[string]int {
	p := map[string]int{"scoreboardd": r.daemon.Process.Pid, "PostgreSQL": r.postgres.PID(), "Kafka": r.kafka.PID(), "Redis": r.redis.PID()}
	if r.prometheus != 0 {
		p["Prometheus"] = r.prometheus
	}
	return p
}

func (r *rig) measure() *measurement {
	m := &measurement{began: time.Now(), cpu: map[string]time.Duration{}, machine: readMachine()}
	for name, pid := range r.processes() {
		m.cpu[name] = cpuOf(pid)
	}
	return m
}

// print says which process used how much since, and how busy the machine was.
func (m *measurement) print(r *rig, generator time.Duration, increments float64) {
	took := time.Since(m.began)
	fmt.Printf("\n| process | CPU s | of the machine | µs an increment | MiB |\n|---|---|---|---|---|\n")
	line := func(name string, used time.Duration, resident string) {
		fmt.Printf("| %s | %.1f | %.1f %% | %.1f | %s |\n", name, used.Seconds(), 100*used.Seconds()/took.Seconds()/float64(runtime.NumCPU()),
			float64(used.Microseconds())/max(increments, 1), resident)
	}
	pids := r.processes()
	sum := generator
	for _, name := range []string{"scoreboardd", "PostgreSQL", "Kafka", "Redis", "Prometheus"} {
		pid, there := pids[name]
		if !there {
			continue
		}
		used := cpuOf(pid) - m.cpu[name]
		sum += used
		line(name, used, strconv.FormatInt(residentOf(pid), 10))
	}
	line("generator", generator, "")
	line("sum", sum, "")
	busy, waiting := m.machine.since(readMachine())
	fmt.Printf("\nThe machine was busy for %.1f %% of the %v, the time after the load included, and waited for its disk for %.1f %%.\n",
		busy, took.Round(time.Second), waiting)
	if busy > 90 {
		fmt.Println("The limit was its CPU.")
	} else if waiting > 20 {
		fmt.Println("The limit was its disk.")
	}
}

// machineTime is what all CPUs did, in ticks.
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
		case i < 8: // guests are counted in user already
			m.busy += n
		}
	}
	return m
}

// since is in percent.
func (m machineTime) since(now machineTime) (busy, waiting float64) {
	all := float64(now.busy + now.idle + now.waiting - m.busy - m.idle - m.waiting)
	if all == 0 {
		return 0, 0
	}
	return 100 * float64(now.busy-m.busy) / all, 100 * float64(now.waiting-m.waiting) / all
}
