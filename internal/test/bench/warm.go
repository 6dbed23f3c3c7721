package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// The broker is warm once its compilers take less than this share of the machine, in percent. A cold one
// takes 7 to 22 % of two cores for a minute, from what is measured.
const quietCompilers = 2.0

// warmUp sends load, for a tenth of a minute at a time, until the broker's compilers are quiet, and prints
// what they still take.
func (r *rig) warmUp(ctx context.Context, send func(context.Context, time.Duration) error) error {
	started := time.Now()
	for {
		compilers, at := r.compilers(), time.Now()
		if err := send(ctx, r.warm/10); err != nil {
			return err
		}
		share := shareOf(r.compilers()-compilers, time.Since(at))
		if share < quietCompilers || time.Since(started) > 3*r.warm {
			r.printf("Warmed for %v: then the broker's compilers took %.1f %% of the machine.\n\n",
				time.Since(started).Round(time.Second), share)
			return nil
		}
	}
}

// warmByPosts warms by signed increments from 64 connections.
func (r *rig) warmByPosts(ctx context.Context) error {
	return r.warmUp(ctx, func(ctx context.Context, d time.Duration) error {
		_, err := r.post(ctx, 64, d)
		return err
	})
}

// shareOf is the share of the machine that a CPU time took, in percent.
func shareOf(cpu, took time.Duration) float64 {
	return 100 * cpu.Seconds() / took.Seconds() / float64(runtime.NumCPU())
}

// compilers is the CPU time of the broker's threads that compile.
func (r *rig) compilers() (total time.Duration) {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*/stat", r.Kafka.PID())) // the pattern is well-formed
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		text := string(b)
		end := strings.LastIndexByte(text, ')')
		if !strings.Contains(text[:end], " CompilerThre") { // C1 CompilerThread0, cut off by the kernel
			continue
		}
		fields := strings.Fields(text[end+1:])
		for _, i := range []int{11, 12} { // utime, stime
			n, _ := strconv.ParseInt(fields[i], 10, 64)
			total += time.Duration(n) * tick
		}
	}
	return total
}
