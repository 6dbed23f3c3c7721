package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/loadgen"
)

// exitCheckFailed is the exit code of sbctl for a run that missed criteria.
const exitCheckFailed = 3

// sbctlEnv is the environment of sbctl for this installation. Its Redis is in the
// environment, so that no report contains its password.
func (r *rig) sbctlEnv() []string {
	return append(os.Environ(), "SBCTL_SERVER="+r.api, "SBCTL_TOKEN="+r.token, "SBCTL_KEY_ID="+r.key.KeyID,
		"SBCTL_KEY_SECRET="+r.key.Secret, "SBCTL_PROFILE=", "BENCH_REDIS="+r.Redis.URL())
}

// sbctl runs sbctl. Missed criteria are an exit code, not an error.
func (r *rig) sbctl(ctx context.Context, args ...string) (cpu time.Duration, code int, err error) {
	cmd := exec.CommandContext(ctx, r.program("sbctl"), args...)
	cmd.Env = r.sbctlEnv()
	cmd.Stdout, cmd.Stderr = r.Out, r.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it reports what it has
	cmd.WaitDelay = time.Minute
	err = cmd.Run()
	if cmd.ProcessState != nil {
		cpu, code = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), cmd.ProcessState.ExitCode()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && code == exitCheckFailed {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("sbctl %s: %w", args[0], err)
	}
	return cpu, code, err
}

// load runs sbctl load run at a rate and returns its report.
func (r *rig) load(ctx context.Context, rate int, d time.Duration, more ...string) (*loadgen.Report, error) {
	report, _, err := r.loadInto(ctx, rate, d, more...)
	return report, err
}

// loadInto is load, and returns the folder of the report and the record, too.
func (r *rig) loadInto(
	ctx context.Context, rate int, d time.Duration, more ...string,
) (_ *loadgen.Report, out string, err error) {
	out = filepath.Join(r.dir, fmt.Sprintf("load-%d-%d", rate, time.Now().UnixNano()))
	cmd := exec.CommandContext(ctx, r.program("sbctl"), append([]string{
		"load", "run", "--rate", strconv.Itoa(rate), "--duration", d.String(),
		"--users", strconv.Itoa(users), "--out", out, "--quiet",
	}, more...)...)
	cmd.Env = r.sbctlEnv()
	text, runErr := cmd.CombinedOutput()
	report, err := readReport(out)
	if err != nil {
		return nil, out, fmt.Errorf("sbctl load run: %w: %s", runErr, text)
	}
	return report, out, nil
}

func readReport(dir string) (*loadgen.Report, error) {
	b, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return nil, err
	}
	var report loadgen.Report
	return &report, json.Unmarshal(b, &report)
}

func errorCount(report *loadgen.Report) (n uint64) {
	for _, e := range report.Errors {
		n += e.N
	}
	return n
}
