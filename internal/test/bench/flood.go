package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/loadgen/plan"
)

// floodAddress is the source address of the flood.
const floodAddress = "127.0.0.2"

// Flood measures valid traffic alone, then during a flood of invalid signatures
// from another address, then alone again.
func Flood(ctx context.Context, o Options) error {
	r, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer r.stop()
	if err := r.warmByPosts(ctx); err != nil {
		return err
	}
	r.printf("| valid traffic, %d/s | p50 ms | p95 ms | p99 ms | errors | p95 ratio to the first | flood/s "+
		"| responses 401 / 429 / other | daemon CPU s |\n", r.goodRate)
	r.println("|---|---|---|---|---|---|---|---|---|")
	var before float64
	for _, name := range []string{"alone", "during the flood", "alone again"} {
		cpu := cpuOf(r.daemon.Process.Pid)
		stop := make(chan struct{})
		flooded := make(chan floodResult, 1)
		if name == "during the flood" {
			go func() { flooded <- r.sendFlood(stop) }()
		} else {
			flooded <- floodResult{}
		}
		good, err := r.load(ctx, r.goodRate, r.flood)
		close(stop)
		bad := <-flooded
		if err != nil {
			return err
		}
		if before == 0 {
			before = good.Latency.P95
		}
		r.printf("| %s | %.1f | %.1f | %.1f | %d | %.2f | %.0f | %d / %d / %d | %.1f |\n",
			name, good.Latency.P50, good.Latency.P95, good.Latency.P99, errorCount(good), good.Latency.P95/before,
			float64(bad.total())/r.flood.Seconds(), bad.unauthorized, bad.limited, bad.other,
			(cpuOf(r.daemon.Process.Pid) - cpu).Seconds())
	}
	return r.check(ctx)
}

// floodResult counts the responses to a flood.
type floodResult struct{ unauthorized, limited, other uint64 }

func (f floodResult) total() uint64 { return f.unauthorized + f.limited + f.other }

// sendFlood sends increments with a valid token, a known key and invalid
// signatures, until stop is closed.
func (r *rig) sendFlood(stop <-chan struct{}) (f floodResult) {
	target := func(t *vegeta.Target) error {
		q := wire.IncrementRequest{
			UserID: "victim", Delta: 5, EventID: "flood", Timestamp: time.Now().UTC().Format(time.RFC3339),
			KeyID: r.key.KeyID, Signature: strings.Repeat("0", 64),
		}
		b, err := json.Marshal(q)
		if err != nil {
			return err
		}
		t.Method, t.URL, t.Body = http.MethodPost, r.api+"/v1/scores/increment", b
		t.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + r.token}}
		return nil
	}
	attacker := vegeta.NewAttacker(
		vegeta.LocalAddr(net.IPAddr{IP: net.ParseIP(floodAddress)}), vegeta.MaxWorkers(plan.DefaultConnections))
	results := attacker.Attack(target, vegeta.Rate{Freq: r.floodRate, Per: time.Second}, r.flood, "flood")
	for {
		select {
		case <-stop:
			attacker.Stop()
			if results != nil {
				for range results { // requests in flight
				}
			}
			return f
		case result, ok := <-results:
			switch {
			case !ok:
				results = nil // the flood ends before the valid traffic; wait for stop
			case result.Code == http.StatusUnauthorized:
				f.unauthorized++
			case result.Code == http.StatusTooManyRequests:
				f.limited++
			default:
				f.other++
			}
		}
	}
}
