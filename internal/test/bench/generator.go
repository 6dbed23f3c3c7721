package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/scoreboard/scoreboard/loadgen"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/report"
)

// generatorCase is a load of the generator bench.
type generatorCase struct {
	name                      string
	rate                      int
	vegeta                    bool // vegeta alone instead of sbctl
	unsigned, recorded, batch bool
}

var generatorCases = []generatorCase{
	{name: "vegeta alone", rate: 10_000, vegeta: true},
	{name: "neither signed nor recorded", rate: 10_000, unsigned: true},
	{name: "signed", rate: 10_000},
	{name: "signed and recorded", rate: 10_000, recorded: true},
	{name: "signed and recorded", rate: 1000, recorded: true},
	{name: "signed and recorded", rate: 5000, recorded: true},
	{name: "signed and recorded", rate: 12_000, recorded: true},
	{name: "signed and recorded", rate: 15_000, recorded: true},
	{name: "signed and recorded", rate: 20_000, recorded: true},
	{name: "batches of 500, signed and recorded", rate: 40_000, recorded: true, batch: true},
}

// generatorBench runs load generators in the folder of an installation.
type generatorBench struct{ *rig }

// Generator measures the load generator against a server that does nothing, in
// another process: the rate that it achieves, its lateness and its CPU time per
// request; and vegeta alone for comparison.
func Generator(ctx context.Context, o Options) error {
	on, err := newDir(o)
	if err != nil {
		return err
	}
	defer on.stop()
	r := generatorBench{on}
	server := exec.CommandContext(ctx, o.Self, "serve-noop")
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the address of the server: %w", err)
	}
	url = strings.TrimSpace(url)
	r.println(
		"| generator | target/s | sent/s | late p50 ms | p99 ms | p99.9 ms | CPU µs per request " +
			"| of it in the kernel | server's CPU µs |",
	)
	r.println("|---|---|---|---|---|---|---|---|---|")
	for _, c := range generatorCases {
		c.rate = int(float64(c.rate) * r.generatorRate)
		before := cpuOf(server.Process.Pid)
		var g generated
		if c.vegeta {
			g, err = r.runVegeta(ctx, url, c)
		} else {
			g, err = r.runGenerator(ctx, url, c)
		}
		if err != nil {
			return err
		}
		n := float64(g.sent)
		micros := func(d time.Duration) float64 { return float64(d.Microseconds()) / n }
		late := "– | – | –"
		if !c.vegeta {
			late = fmt.Sprintf("%.1f | %.1f | %.1f", g.late.P50, g.late.P99, g.late.P999)
		}
		r.printf("| %s | %d | %.0f | %s | %.1f | %.1f | %.1f |\n", c.name, c.rate, n/r.generator.Seconds(), late,
			micros(g.user+g.system), micros(g.system), micros(cpuOf(server.Process.Pid)-before))
	}
	return nil
}

// generated is the result of a load.
type generated struct {
	sent         uint64 // increments
	late         report.Latency
	user, system time.Duration
}

// runGenerator runs sbctl load run.
func (r generatorBench) runGenerator(ctx context.Context, url string, c generatorCase) (g generated, err error) {
	args := []string{
		"load", "run", "--rate", strconv.Itoa(c.rate), "--duration", r.generator.String(),
		"--users", strconv.Itoa(users), "--quiet", "--output", "json",
	}
	if c.recorded {
		args = append(args, "--out", filepath.Join(r.dir, "out"))
	}
	size := uint64(1)
	if c.batch {
		args, size = append(args, "--mode", "batch", "--batch", "500"), 500
	}
	keyID, secret := "k1", "sk_0123456789abcdef0123456789abcdef"
	if c.unsigned {
		keyID, secret = "", ""
	}
	cmd := exec.CommandContext(ctx, r.program("sbctl"), args...)
	cmd.Env = append(os.Environ(), "SBCTL_SERVER="+url, "SBCTL_TOKEN="+strings.Repeat("t", 300),
		"SBCTL_KEY_ID="+keyID, "SBCTL_KEY_SECRET="+secret)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	var exit *exec.ExitError
	// A generator that fell behind exits with a failed check, and the figures show it.
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitCheckFailed) {
		return g, fmt.Errorf("sbctl load run: %w: %s", err, problems.String())
	}
	var rep loadgen.Report
	if err := json.Unmarshal(out, &rep); err != nil {
		return g, err
	}
	if len(rep.Errors) > 0 {
		return g, fmt.Errorf("the load had errors: %v", rep.Errors)
	}
	return generated{rep.Sent * size, rep.Late, cmd.ProcessState.UserTime(), cmd.ProcessState.SystemTime()}, nil
}

// runVegeta runs Attack in another process.
func (r generatorBench) runVegeta(ctx context.Context, url string, c generatorCase) (g generated, err error) {
	cmd := exec.CommandContext(ctx, r.Self, "vegeta", url, strconv.Itoa(c.rate), r.generator.String())
	cmd.Stderr = r.Err
	out, err := cmd.Output()
	if err != nil {
		return g, err
	}
	g.sent, err = strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
	g.user, g.system = cmd.ProcessState.UserTime(), cmd.ProcessState.SystemTime()
	return g, err
}

// Attack runs vegeta as its own command does, with one fixed body and the default
// transport, and without keeping results. It prints the number of requests.
func Attack(out io.Writer, url string, rate int, d time.Duration) {
	body := `{"user_id":"user-0000001","delta":5,"event_id":"0195f0a0-0000-7000-8000-000000000000",` +
		`"timestamp":"2026-11-21T12:00:00Z","signature":"` + strings.Repeat("a", 64) + `","key_id":"k1"}`
	target := vegeta.Target{
		Method: http.MethodPost, URL: url + "/v1/scores/increment", Body: []byte(body),
		Header: http.Header{
			"Content-Type": {"application/json"}, "Authorization": {"Bearer " + strings.Repeat("t", 300)},
		},
	}
	a := vegeta.NewAttacker(vegeta.MaxWorkers(plan.DefaultConnections))
	sent := 0
	for range a.Attack(vegeta.NewStaticTargeter(target), vegeta.Rate{Freq: rate, Per: time.Second}, d, "") {
		sent++
	}
	fmt.Fprintln(out, sent)
}
