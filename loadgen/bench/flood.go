package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/scoreboard/scoreboard/loadgen"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// A flood of bad signatures comes from an address of its own beside good
// traffic, as fast as the requirements say.
const (
	floodRate = 5000
	goodRate  = 1000
	floodTime = 20 * time.Second
	floodFrom = "127.0.0.2"
)

// benchFlood measures good traffic alone, then beside a flood of bad
// signatures, then alone again.
func benchFlood(ctx context.Context) error {
	r, err := newRig(ctx)
	if err != nil {
		return err
	}
	defer r.stop()
	if _, err := r.load(ctx, 64, warmTime); err != nil {
		return err
	}
	fmt.Println("| good traffic, 1,000/s | p50 ms | p95 ms | p99 ms | errors | p95 against before | flood/s | answered 401 / 429 / else | daemon CPU s |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
	var before float64
	for _, name := range []string{"alone", "beside the flood", "alone again"} {
		cpu := cpuOf(r.daemon.Process.Pid)
		stop := make(chan struct{})
		flooded := make(chan answers, 1)
		if name == "beside the flood" {
			go func() { flooded <- r.flood(stop) }()
		} else {
			flooded <- answers{}
		}
		good, err := r.play(ctx, filepath.Join(r.dir, strings.ReplaceAll(name, " ", "-")))
		close(stop)
		bad := <-flooded
		if err != nil {
			return err
		}
		if before == 0 {
			before = good.Latency.P95
		}
		errs := uint64(0)
		for _, e := range good.Errors {
			errs += e.N
		}
		fmt.Printf("| %s | %.1f | %.1f | %.1f | %d | %.2f | %.0f | %d / %d / %d | %.1f |\n", name, good.Latency.P50, good.Latency.P95, good.Latency.P99,
			errs, good.Latency.P95/before, float64(bad.all())/floodTime.Seconds(), bad.unauthorized, bad.limited, bad.other,
			(cpuOf(r.daemon.Process.Pid) - cpu).Seconds())
	}
	return r.check(ctx)
}

// play is sbctl load run at goodRate.
func (r *rig) play(ctx context.Context, out string) (l loadgen.Report, err error) {
	cmd := exec.CommandContext(ctx, "bin/sbctl", "load", "run", "--rate", strconv.Itoa(goodRate), "--duration", floodTime.String(),
		"--users", strconv.Itoa(users), "--out", out, "--quiet")
	cmd.Env = append(os.Environ(), "SBCTL_SERVER="+r.api, "SBCTL_TOKEN="+r.token, "SBCTL_KEY_ID="+r.key.KeyID, "SBCTL_KEY_SECRET="+r.key.Secret)
	said, runErr := cmd.CombinedOutput()
	b, err := os.ReadFile(filepath.Join(out, "report.json"))
	if err != nil {
		return l, fmt.Errorf("sbctl load run: %w: %s", runErr, said)
	}
	return l, json.Unmarshal(b, &l)
}

// answers is what a flood was answered with.
type answers struct{ unauthorized, limited, other uint64 }

func (a answers) all() uint64 { return a.unauthorized + a.limited + a.other }

// flood sends well-formed increments under a good token and a known key, with
// signatures that are wrong, until stop is closed.
func (r *rig) flood(stop <-chan struct{}) (a answers) {
	target := func(t *vegeta.Target) error {
		q := protocol.IncrementRequest{
			UserID: "victim", Delta: 5, EventID: "flood", Timestamp: time.Now().UTC().Format(time.RFC3339), KeyID: r.key.KeyID,
			Signature: strings.Repeat("0", 64),
		}
		b, err := json.Marshal(q)
		if err != nil {
			return err
		}
		t.Method, t.URL, t.Body = http.MethodPost, r.api+"/v1/scores/increment", b
		t.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + r.token}}
		return nil
	}
	attacker := vegeta.NewAttacker(vegeta.LocalAddr(net.IPAddr{IP: net.ParseIP(floodFrom)}), vegeta.MaxWorkers(plan.DefaultConnections))
	results := attacker.Attack(target, vegeta.Rate{Freq: floodRate, Per: time.Second}, floodTime, "flood")
	for {
		select {
		case <-stop:
			attacker.Stop()
			if results != nil {
				for range results { // what is under way
				}
			}
			return a
		case result, ok := <-results:
			switch {
			case !ok:
				results = nil // it ends before the good traffic does; wait for that
			case result.Code == http.StatusUnauthorized:
				a.unauthorized++
			case result.Code == http.StatusTooManyRequests:
				a.limited++
			default:
				a.other++
			}
		}
	}
}
