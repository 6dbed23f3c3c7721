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
	"syscall"
	"time"

	"github.com/scoreboard/scoreboard/loadgen"
)

// withLimits are the settings of an installation that is held to the criteria:
// the limits that a daemon has by default.
var withLimits = []string{
	"SCOREBOARD_LIMIT_UPDATES_PER_MINUTE=10", "SCOREBOARD_LIMIT_TOP_PER_MINUTE=60", "SCOREBOARD_LIMIT_RANK_PER_MINUTE=30",
	"SCOREBOARD_REALTIME_CONNECTIONS_PER_USER=5",
	"SCOREBOARD_AUTH_DEV_ISSUER=true", // for players' tokens
}

// benchAccept holds the whole installation to a profile, A as it is written
// unless the arguments say otherwise, and says where the CPU time went.
func benchAccept(ctx context.Context) error {
	return acceptance(ctx, "out/accept-full", nil, os.Args[2:])
}

// benchChaos breaks parts in the middle: one of two processes that relay and
// project is killed, and Redis is flushed.
func benchChaos(ctx context.Context) error {
	return acceptance(ctx, "out/chaos", func(ctx context.Context, r *rig) ([]string, error) {
		second, err := r.second(ctx)
		if err != nil {
			return nil, err
		}
		return []string{
			"--chaos", "--rate", "500", "--duration", "60s", "--users", "5000",
			"--fault", "kill -9 " + strconv.Itoa(second.Process.Pid), "--fault", `redis-cli -u "$BENCH_REDIS" flushall`,
		}, nil
	}, os.Args[2:])
}

func acceptance(ctx context.Context, out string, prepare func(context.Context, *rig) ([]string, error), args []string) error {
	r, err := newRig(ctx, withLimits...)
	if err != nil {
		return err
	}
	defer r.stop()
	fmt.Printf("- PostgreSQL (fsync on), Redis, Apache Kafka and scoreboardd as processes of their own, data in %s\n", r.dir)
	all := []string{"accept", "--profile", "A", "--out", out, "--ops", r.ops, "--redis", r.redis.URL()}
	if prometheus, err := r.startPrometheus(ctx); err == nil {
		all = append(all, "--prometheus", prometheus)
	} else {
		fmt.Printf("- without Prometheus, so that alert rules are not judged: %v\n", err)
	}
	if prepare != nil {
		more, err := prepare(ctx, r)
		if err != nil {
			return err
		}
		all = append(all, more...)
	}
	// A cold broker costs several times as much.
	if _, _, err := r.sbctl(ctx, "load", "run", "--rate", "200..2000/10s", "--users", "10", "--skew", "0", "--quiet", "--out", filepath.Join(r.dir, "warm")); err != nil {
		return err
	}
	m := r.measure()
	generator, code, err := r.sbctl(ctx, append(all, args...)...)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(argument(args, "--out", out), "report.json"))
	if err != nil {
		return err
	}
	var l loadgen.Report
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	m.print(r, generator, l.Rate*l.Seconds)
	if code != 0 {
		return fmt.Errorf("sbctl accept ended with %d: %s", code, l.Verdict)
	}
	return nil
}

// argument is the value of a flag that may stand among arguments.
func argument(args []string, flag, or string) string {
	for i, a := range args {
		if a == flag && i+1 < len(args) {
			return args[i+1]
		}
	}
	return or
}

// sbctl runs bin/sbctl against the rig. That criteria were missed is no error
// but a code.
func (r *rig) sbctl(ctx context.Context, args ...string) (cpu time.Duration, code int, err error) {
	cmd := exec.CommandContext(ctx, "bin/sbctl", args...)
	cmd.Env = append(os.Environ(), "SBCTL_SERVER="+r.api, "SBCTL_TOKEN="+r.token, "SBCTL_KEY_ID="+r.key.KeyID, "SBCTL_KEY_SECRET="+r.key.Secret, "SBCTL_PROFILE=",
		"BENCH_REDIS="+r.redis.URL()) // so that no report holds its password
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it reports what there is
	cmd.WaitDelay = time.Minute
	err = cmd.Run()
	if cmd.ProcessState != nil {
		cpu, code = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), cmd.ProcessState.ExitCode()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && code == 3 {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("sbctl %s: %w", args[0], err)
	}
	return cpu, code, err
}

// second runs one more process that relays and projects.
func (r *rig) second(ctx context.Context) (*exec.Cmd, error) {
	ops, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "bin/scoreboardd", "--roles", "relay,projector", "--addr", "127.0.0.1:0", "--ops-addr", ops)
	cmd.Env = r.daemon.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r.onStop(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, await(ctx, "http://"+ops+"/readyz")
}

// startPrometheus runs the Prometheus of this machine with our rules and the
// daemon to scrape.
func (r *rig) startPrometheus(ctx context.Context) (url string, err error) {
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
	text := fmt.Sprintf("global: {scrape_interval: 5s, evaluation_interval: 5s}\nrule_files: [%q]\nscrape_configs:\n  - job_name: scoreboardd\n    static_configs: [{targets: [%q]}]\n",
		rules, r.ops[len("http://"):])
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	log, err := os.Create(filepath.Join(r.dir, "prometheus.log"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, "--config.file="+path, "--storage.tsdb.path="+filepath.Join(r.dir, "prometheus"), "--web.listen-address="+addr)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	r.prometheus = cmd.Process.Pid
	r.onStop(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return "http://" + addr, await(ctx, "http://"+addr+"/-/ready")
}
