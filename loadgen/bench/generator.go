package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// generatorTime is how long each rate is asked of the generator.
const generatorTime = 10 * time.Second

// benchGenerator measures the generator alone against a server that does
// nothing, in another process: what it can offer, how late, and what a request
// costs it; and vegeta alone beside it.
func benchGenerator(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := tempDir()
	if err != nil {
		return err
	}
	defer remove(dir)
	server := exec.CommandContext(ctx, self, "noop")
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	in := bufio.NewScanner(said)
	url := ""
	for !strings.HasPrefix(url, "http://") && in.Scan() {
		url = in.Text()
	}
	fmt.Println("| generator | asked/s | sent/s | late p50 ms | p99 ms | p99.9 ms | CPU µs a request | of it in the kernel | server's CPU µs |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
	for _, c := range []struct {
		name string
		rate int
		args []string
	}{
		{"vegeta alone", 10_000, nil},
		{"neither signed nor recorded", 10_000, []string{"unsigned"}},
		{"signed", 10_000, []string{}},
		{"signed and recorded", 10_000, []string{"recorded"}},
		{"signed and recorded", 1000, []string{"recorded"}},
		{"signed and recorded", 5000, []string{"recorded"}},
		{"signed and recorded", 12_000, []string{"recorded"}},
		{"signed and recorded", 15_000, []string{"recorded"}},
		{"signed and recorded", 20_000, []string{"recorded"}},
		{"batches of 500, signed and recorded", 40_000, []string{"recorded", "batch"}},
	} {
		before := cpuOf(server.Process.Pid)
		var line generated
		if c.args == nil {
			line, err = vegetaAlone(ctx, self, url, c.rate)
		} else {
			line, err = sbctlAlone(ctx, url, filepath.Join(dir, "out"), c.rate, strings.Join(c.args, " "))
		}
		if err != nil {
			return err
		}
		n := float64(line.sent)
		micros := func(d time.Duration) float64 { return float64(d.Microseconds()) / n }
		late := "– | – | –"
		if c.args != nil {
			late = fmt.Sprintf("%.1f | %.1f | %.1f", line.late.P50, line.late.P99, line.late.P999)
		}
		fmt.Printf("| %s | %d | %.0f | %s | %.1f | %.1f | %.1f |\n", c.name, c.rate, n/generatorTime.Seconds(), late,
			micros(line.user+line.system), micros(line.system), micros(cpuOf(server.Process.Pid)-before))
	}
	return nil
}

type generated struct {
	sent         uint64
	late         report.Latency
	user, system time.Duration
}

// sbctlAlone runs sbctl load run as anybody does. Of a batch each increment
// counts.
func sbctlAlone(ctx context.Context, url, out string, rate int, with string) (g generated, err error) {
	args := []string{
		"load", "run", "--rate", strconv.Itoa(rate), "--duration", generatorTime.String(), "--users", strconv.Itoa(users), "--quiet", "--output", "json",
	}
	if strings.Contains(with, "recorded") {
		args = append(args, "--out", out)
	}
	each := uint64(1)
	if strings.Contains(with, "batch") {
		args, each = append(args, "--mode", "batch", "--batch", "500"), 500
	}
	cmd := exec.CommandContext(ctx, "bin/sbctl", args...)
	cmd.Env = append(os.Environ(), "SBCTL_SERVER="+url, "SBCTL_TOKEN="+strings.Repeat("t", 300), "SBCTL_KEY_ID=", "SBCTL_KEY_SECRET=")
	if !strings.Contains(with, "unsigned") {
		cmd.Env = append(cmd.Env, "SBCTL_KEY_ID=k1", "SBCTL_KEY_SECRET=sk_0123456789abcdef0123456789abcdef")
	}
	var problems strings.Builder
	cmd.Stderr = &problems
	said, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) { // 3: it fell behind, which the line shows
		return g, fmt.Errorf("sbctl load run: %w: %s", err, problems.String())
	}
	var r loadgen.Report
	if err := json.Unmarshal(said, &r); err != nil {
		return g, err
	}
	if len(r.Errors) > 0 {
		return g, fmt.Errorf("there were errors: %v", r.Errors)
	}
	return generated{r.Sent * each, r.Late, cmd.ProcessState.UserTime(), cmd.ProcessState.SystemTime()}, nil
}

func vegetaAlone(ctx context.Context, self, url string, rate int) (g generated, err error) {
	cmd := exec.CommandContext(ctx, self, "vegeta", url, strconv.Itoa(rate))
	cmd.Stderr = os.Stderr
	said, err := cmd.Output()
	if err != nil {
		return g, err
	}
	lines := strings.Fields(string(said))
	g.sent, err = strconv.ParseUint(lines[len(lines)-1], 10, 64)
	g.user, g.system = cmd.ProcessState.UserTime(), cmd.ProcessState.SystemTime()
	return g, err
}

// attackNoop is vegeta as its own command runs it: one fixed body, its own
// transport, nothing kept of the results. It prints how many there were.
func attackNoop(url, rate string) error {
	n, err := strconv.Atoi(rate)
	if err != nil {
		return err
	}
	body := `{"user_id":"user-0000001","delta":5,"event_id":"0195f0a0-0000-7000-8000-000000000000","timestamp":"2026-11-21T12:00:00Z","signature":"` +
		strings.Repeat("a", 64) + `","key_id":"k1"}`
	target := vegeta.Target{
		Method: http.MethodPost, URL: url + "/v1/scores/increment", Body: []byte(body),
		Header: http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + strings.Repeat("t", 300)}},
	}
	a := vegeta.NewAttacker(vegeta.MaxWorkers(plan.DefaultConnections))
	sent := 0
	for range a.Attack(vegeta.NewStaticTargeter(target), vegeta.Rate{Freq: n, Per: time.Second}, generatorTime, "") {
		sent++
	}
	fmt.Println(sent)
	return nil
}
