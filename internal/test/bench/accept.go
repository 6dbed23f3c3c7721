package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/codec"
	"github.com/scoreboard/scoreboard/loadgen/plan"
)

// limits are the daemon's default limits, which an acceptance run checks, the issuer that
// it needs for players' tokens, and the dialects of the criteria B to E.
var limits = []string{
	"SCOREBOARD_LIMIT_UPDATES_PER_MINUTE=10", "SCOREBOARD_LIMIT_TOP_PER_MINUTE=60",
	"SCOREBOARD_LIMIT_RANK_PER_MINUTE=30", "SCOREBOARD_REALTIME_CONNECTIONS_PER_USER=5",
	"SCOREBOARD_AUTH_DEV_ISSUER=true",
	"SCOREBOARD_DIALECTS=" + strings.Join(plan.Dialects, ","),
	"SCOREBOARD_INGEST_ACTIONS=" + codec.ModuleAction + ":1:100;once=0s",
	"SCOREBOARD_DIALECT_HIGHSCORE_ACTION_MIN=0s",
}

// acceptBench runs sbctl accept against an installation.
type acceptBench struct{ *rig }

// Accept runs sbctl accept against the installation, by default with the full
// profile A, and reports the CPU time of each process.
func Accept(ctx context.Context, o Options) error {
	on, err := newRig(ctx, o, limits...)
	if err != nil {
		return err
	}
	defer on.stop()
	r := acceptBench{on}
	return r.accept(ctx, "out/accept-full")
}

// Chaos runs a small acceptance run with faults: it kills one of two processes
// that relay and project, and flushes Redis.
func Chaos(ctx context.Context, o Options) error {
	on, err := newRig(ctx, o, limits...)
	if err != nil {
		return err
	}
	defer on.stop()
	r := acceptBench{on}
	second, err := r.startProjector(ctx)
	if err != nil {
		return err
	}
	return r.accept(ctx, "out/chaos", "--chaos", "--rate", "500", "--duration", "60s", "--users", "5000",
		"--fault", "kill -9 "+strconv.Itoa(second.Process.Pid), "--fault", `redis-cli -u "$BENCH_REDIS" flushall`)
}

func (r acceptBench) accept(ctx context.Context, out string, more ...string) error {
	r.printf("- PostgreSQL (fsync on), Redis, Apache Kafka and scoreboardd as separate processes, data in %s\n", r.dir)
	args := []string{"accept", "--criteria", "A", "--out", out, "--ops", r.ops, "--redis", r.Redis.URL()}
	if prometheus, err := r.startPrometheus(ctx); err == nil {
		args = append(args, "--prometheus", prometheus)
	} else {
		r.printf("- without Prometheus, so alert rules are not checked: %v\n", err)
	}
	args = slices.Concat(args, more)
	if r.Quick {
		args = append(args, "--rate", "100", "--duration", "2s", "--users", "40", "--out", filepath.Join(r.dir, "out"))
	}
	args = append(args, r.Args...)
	if err := r.warmUp(ctx, r.warmByLoad); err != nil {
		return err
	}
	u := r.startUsage()
	generator, code, err := r.sbctl(ctx, args...)
	if err != nil {
		return err
	}
	report, err := readReport(lastFlag(args, "--out"))
	if err != nil {
		return err
	}
	u.print(r.rig, generator, report.Rate*report.Seconds)
	if code != 0 && !r.Quick { // a tiny run may miss criteria of speed
		return fmt.Errorf("sbctl accept exited with %d: %s", code, report.Verdict)
	}
	return nil
}

// warmByLoad warms by a load with few users, whose scores the criteria allow for.
func (r acceptBench) warmByLoad(ctx context.Context, d time.Duration) error {
	rate := 2000
	if r.Quick {
		rate = 100
	}
	_, _, err := r.sbctl(ctx, "load", "run", "--rate", strconv.Itoa(rate), "--duration", d.String(), "--users", "10",
		"--skew", "0", "--quiet", "--out", filepath.Join(r.dir, "warm"))
	return err
}

// lastFlag is the value of the last occurrence of a flag.
func lastFlag(args []string, flag string) (value string) {
	for i, a := range args[:len(args)-1] {
		if a == flag {
			value = args[i+1]
		}
	}
	return value
}

// startProjector starts another process that relays and projects.
func (r acceptBench) startProjector(ctx context.Context) (*exec.Cmd, error) {
	ops, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), r.program("scoreboardd"),
		"--roles", "relay,projector", "--addr", "127.0.0.1:0", "--ops-addr", ops)
	cmd.Env = r.daemon.Env
	return cmd, r.startChild(ctx, cmd, "http://"+ops+"/readyz")
}

// startChild starts a process that ends with the rig, and waits until it is ready.
func (r acceptBench) startChild(ctx context.Context, cmd *exec.Cmd, ready string) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	r.onStop(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return await(ctx, ready)
}

const prometheusConfig = `global: {scrape_interval: 5s, evaluation_interval: 5s}
rule_files: [%q]
scrape_configs:
  - job_name: scoreboardd
    static_configs: [{targets: [%q]}]
`

// startPrometheus starts the installed Prometheus with our rules and the daemon as
// its target.
func (r acceptBench) startPrometheus(ctx context.Context) (url string, err error) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		return "", err
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return "", err
	}
	rules, err := filepath.Abs("deploy/prometheus/alerts.yml")
	if err != nil {
		return "", err
	}
	path := filepath.Join(r.dir, "prometheus.yml")
	config := fmt.Sprintf(prometheusConfig, rules, r.ops[len("http://"):])
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return "", err
	}
	log, err := os.Create(filepath.Join(r.dir, "prometheus.log"))
	if err != nil {
		return "", err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, "--config.file="+path,
		"--storage.tsdb.path="+filepath.Join(r.dir, "prometheus"), "--web.listen-address="+addr)
	cmd.Stderr = log
	if err := r.startChild(ctx, cmd, "http://"+addr+"/-/ready"); err != nil {
		return "", err
	}
	r.prometheus = cmd.Process.Pid
	return "http://" + addr, nil
}
