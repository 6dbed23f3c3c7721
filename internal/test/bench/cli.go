package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// CLI measures sbctl on a development stack: its help, one submit, its size, and
// the rate and memory of submitting a file of Options.Lines increments. Times are
// medians of Options.Runs. A line takes about 1.1 kB of disk.
func CLI(ctx context.Context, o Options) error {
	if o.Quick {
		o.Lines, o.Runs = 200, 1
	}
	r, err := newDir(o)
	if err != nil {
		return err
	}
	defer r.stop()
	if err := checkSpace(r.dir, o.Lines); err != nil {
		return err
	}
	_, stop, err := o.startDev(ctx, r.dir)
	if err != nil {
		return err
	}
	defer stop()
	c, environ, err := devClient(r.dir)
	if err != nil {
		return err
	}
	c.Close()
	sbctl := o.program("sbctl")
	info, err := os.Stat(sbctl)
	if err != nil {
		return err
	}
	for _, m := range []struct {
		name, goal string
		args       []string
	}{
		{"sbctl --help", "30 ms", []string{"--help"}},
		{"sbctl score submit", "60 ms", []string{"score", "submit", "--user", "bench", "--delta", "1"}},
	} {
		median, err := medianTime(ctx, o.Runs, environ, sbctl, m.args...)
		if err != nil {
			return err
		}
		o.printf("%-24s %.1f ms (goal %s)\n", m.name, float64(median.Microseconds())/1000, m.goal)
	}
	o.printf("%-24s %.1f MB (goal 35)\n", "size of sbctl", float64(info.Size())/1e6)
	if err := r.submitFile(ctx, sbctl, environ); err != nil {
		return err
	}
	used, err := diskUsage(r.dir)
	o.printf("%-24s %d MB\n", "disk usage", used>>20)
	return err
}

// checkSpace checks that the file system of dir has space for a number of lines.
func checkSpace(dir string, lines int) error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return err
	}
	available, needed := s.Bavail*uint64(s.Bsize), uint64(500<<20+lines*1100)
	if available < needed {
		return fmt.Errorf("%d lines need about %d MB of disk, but only %d MB are available",
			lines, needed>>20, available>>20)
	}
	return nil
}

// medianTime runs a command several times and returns its median duration.
func medianTime(ctx context.Context, runs int, environ []string, name string, args ...string) (time.Duration, error) {
	var times []time.Duration
	for range runs {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Env = environ
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("sbctl %s: %w: %s", args[0], err, out)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// submitFile submits a file of increments and prints the rate and the memory.
func (r *rig) submitFile(ctx context.Context, sbctl string, environ []string) error {
	path := filepath.Join(r.dir, "lines.ndjson")
	if err := writeLines(path, r.Lines); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, sbctl, "score", "submit", "--file", path, "--output", "json")
	cmd.Env = environ
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return fmt.Errorf("submit a file: %w: %s", err, exit.Stderr)
		}
		return err
	}
	var result struct{ Seconds float64 }
	if err := json.Unmarshal(out, &result); err != nil {
		return fmt.Errorf("read the result of submitting a file: %w", err)
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	r.printf("%-24s %.0f lines/s (goal 5,000), %.1f MB resident at most (goal 60), %d lines\n", "score submit --file",
		float64(r.Lines)/result.Seconds, float64(usage.Maxrss)/1000, r.Lines)
	return nil
}

func writeLines(path string, n int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	random := rand.New(rand.NewPCG(1, 1))
	for range n {
		fmt.Fprintf(w, `{"user_id":"u%d","delta":%d}`+"\n", random.IntN(users), 1+random.IntN(50))
	}
	return errors.Join(w.Flush(), f.Close())
}

// diskUsage is the size of all files in a folder, in bytes.
func diskUsage(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return ignoreMissing(err)
	})
	return total, err
}

// ignoreMissing ignores files that PostgreSQL removed in the meantime.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
