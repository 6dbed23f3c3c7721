package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/loadgen"
)

// benchOpen plays signed increments at fixed rates with sbctl load run, which
// takes latency from when an increment was due.
func benchOpen(ctx context.Context) error {
	r, err := newRig(ctx)
	if err != nil {
		return err
	}
	defer r.stop()
	if _, err := r.load(ctx, 64, warmTime); err != nil {
		return err
	}
	fmt.Println("| asked/s | achieved/s | p50 ms | p95 ms | p99 ms | errors | daemon MiB |")
	fmt.Println("|---|---|---|---|---|---|---|")
	for _, rate := range []int{1000, 2000, 4000, 6000, 8000, 10000, 12000} {
		report, err := r.open(ctx, rate, timedTime)
		if err != nil {
			return err
		}
		printOpen(rate, report, residentOf(r.daemon.Process.Pid))
		if _, err := r.drain(ctx); err != nil {
			return err
		}
	}
	return r.check(ctx)
}

// open plays increments at a rate, and waits for nothing.
func (r *rig) open(ctx context.Context, rate int, d time.Duration, more ...string) (*loadgen.Report, error) {
	out := filepath.Join(r.dir, fmt.Sprintf("load-%d-%d", rate, time.Now().UnixNano()))
	cmd := exec.CommandContext(ctx, "bin/sbctl", append([]string{
		"load", "run", "--rate", strconv.Itoa(rate), "--duration", d.String(),
		"--users", strconv.Itoa(users), "--out", out, "--quiet",
	}, more...)...)
	cmd.Env = append(os.Environ(), "SBCTL_SERVER="+r.api, "SBCTL_TOKEN="+r.token, "SBCTL_KEY_ID="+r.key.KeyID, "SBCTL_KEY_SECRET="+r.key.Secret)
	said, runErr := cmd.CombinedOutput()
	b, err := os.ReadFile(filepath.Join(out, "report.json"))
	if err != nil {
		return nil, fmt.Errorf("sbctl load run: %w: %s", runErr, said)
	}
	var report loadgen.Report
	if err := json.Unmarshal(b, &report); err != nil {
		return nil, err
	}
	return &report, nil
}

func printOpen(rate int, l *loadgen.Report, resident int64) {
	errs := uint64(0)
	for _, e := range l.Errors {
		errs += e.N
	}
	fmt.Printf("| %d | %.0f | %.1f | %.1f | %.1f | %d | %d |\n", rate, l.Rate, l.Latency.P50, l.Latency.P95, l.Latency.P99, errs, resident)
}
