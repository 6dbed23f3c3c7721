package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// The load of the write benchmarks.
const (
	users     = 10_000
	skew      = 1.1
	warmTime  = 8 * time.Second
	timedTime = 15 * time.Second
	mostRate  = 40_000 // signed bodies are made for this rate
)

// benchIngest plays signed increments from wrk in a closed loop while relay,
// Kafka, projection and Redis keep up.
func benchIngest(ctx context.Context) error {
	fmt.Println("| connections | increments/s | p50 ms | p99 ms | errors | lag at the end | daemon | PostgreSQL | Kafka | Redis | wrk | sum (CPU µs each) | daemon MiB |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	r, err := newRig(ctx)
	if err != nil {
		return err
	}
	defer r.stop()
	if _, err := r.load(ctx, 64, warmTime); err != nil { // a cold broker costs several times as much
		return err
	}
	for _, connections := range []int{1, 64, 256} {
		if err := r.line(ctx, connections); err != nil {
			return err
		}
	}
	return r.check(ctx)
}

// line measures one number of connections.
func (r *rig) line(ctx context.Context, connections int) error {
	before := r.cpus()
	ledger, err := r.sql(ctx, `select count(*) from user_score_histories`)
	if err != nil {
		return err
	}
	w, err := r.load(ctx, connections, timedTime)
	if err != nil {
		return err
	}
	lag, err := r.drain(ctx)
	if err != nil {
		return err
	}
	after := r.cpus()
	now, err := r.sql(ctx, `select count(*) from user_score_histories`)
	if err != nil {
		return err
	}
	n := float64(now - ledger)
	if n == 0 {
		return fmt.Errorf("nothing was recorded: %s", w.text)
	}
	sum := w.cpu
	each := func(i int) float64 {
		d := after[i] - before[i]
		sum += d
		return float64(d.Microseconds()) / n
	}
	daemon, pg, kafka, redis := each(0), each(1), each(2), each(3)
	fmt.Printf("| %d | %.0f | %s | %s | %d | %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %d |\n", connections,
		float64(w.requests)/w.took.Seconds(), w.p50, w.p99, w.errors, lag.Round(time.Millisecond), daemon, pg, kafka, redis,
		float64(w.cpu.Microseconds())/n, float64(sum.Microseconds())/n, residentOf(r.daemon.Process.Pid))
	if extra := now - ledger - w.requests; extra < 0 || extra > int64(connections) {
		return fmt.Errorf("wrk counted %d answers, the ledger has %d rows more", w.requests, now-ledger)
	}
	return nil
}

func (r *rig) cpus() [4]time.Duration {
	return [4]time.Duration{
		cpuOf(r.daemon.Process.Pid), cpuOf(r.postgres.PID()), cpuOf(r.kafka.PID()), cpuOf(r.redis.PID()),
	}
}

// drain waits until everything recorded is applied, and returns how long that
// took: the lag that was left.
func (r *rig) drain(ctx context.Context) (time.Duration, error) {
	started := time.Now()
	for time.Since(started) < time.Minute {
		left, err := r.sql(ctx, `select count(*) from outbox_score_updates o, relay_shards s
where s.shard = o.shard and (o.xid, o.id) > (s.cursor_xid, s.cursor_id)`)
		if err != nil {
			return 0, err
		}
		if left == 0 {
			return time.Since(started), nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0, fmt.Errorf("the outbox does not drain")
}

// check compares ledger, scores and Redis.
func (r *rig) check(ctx context.Context) error {
	wrong, err := r.sql(ctx, `select count(*) from scores s join (
    select user_id, board_id, sum(applied) as sum, count(*) as n, max(version) as version from user_score_histories group by 1, 2
) h using (user_id, board_id) where s.score <> h.sum or s.version <> h.n or s.version <> h.version`)
	if err != nil {
		return err
	}
	total, err := r.sql(ctx, `select sum(score)::bigint from scores`)
	if err != nil {
		return err
	}
	c, err := client.New(r.api, client.Options{Token: r.token})
	if err != nil {
		return err
	}
	defer c.Close()
	var top client.Top
	agree := false
	for range 100 {
		if top, err = c.Top(ctx, client.TopQuery{Limit: 1}); err != nil {
			return err
		}
		best, err := r.sql(ctx, `select max(score) from scores`)
		if err != nil {
			return err
		}
		if agree = len(top.Entries) == 1 && top.Entries[0].Score == best && !top.Degraded; agree {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	fmt.Printf("\nAfterwards: scores %d in sum, %d users whose ledger and score differ, Redis agrees on the first: %t\n", total, wrong, agree)
	if wrong > 0 || !agree {
		return fmt.Errorf("the truth does not hold")
	}
	return nil
}

// load writes signed bodies and lets wrk post them, each once.
func (r *rig) load(ctx context.Context, connections int, d time.Duration) (*wrkResult, error) {
	rate := mostRate
	if connections == 1 {
		rate = 2000
	}
	path := filepath.Join(r.dir, "bodies")
	if err := r.writeBodies(path, int(d.Seconds()+1)*rate); err != nil {
		return nil, err
	}
	script := filepath.Join(r.dir, "post.lua")
	text := fmt.Sprintf(wrkScript, path, r.token)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return runWrk(ctx, connections, d, script, r.api+"/v1/scores/increment")
}

// runWrk runs a script that ends in wrkDone.
func runWrk(ctx context.Context, connections int, d time.Duration, script, url string) (*wrkResult, error) {
	cmd := exec.CommandContext(ctx, "wrk", "-t1", "-c", strconv.Itoa(connections), "-d", fmt.Sprintf("%ds", int(d.Seconds())),
		"--latency", "--timeout", "10s", "-s", script, url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("wrk: %w: %s", err, out)
	}
	return parseWrk(string(out), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
}

const wrkScript = `
local bodies = io.open(%q, "r")
local headers = { ["Content-Type"] = "application/json", ["Authorization"] = "Bearer %s" }
function request()
    local body = bodies:read("*l")
    if not body then os.exit(1) end
    return wrk.format("POST", nil, headers, body)
end
` + wrkDone

const wrkDone = `
done = function(summary, latency)
    io.write(string.format("RESULT %%d %%d %%d %%.3f %%.3f\n", summary.requests,
        summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
        summary.duration, latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
`

type wrkResult struct {
	requests, errors int64
	p50, p99         string
	took, cpu        time.Duration
	text             string
}

var wrkLine = regexp.MustCompile(`RESULT (\d+) (\d+) (\d+) ([\d.]+) ([\d.]+)`)

func parseWrk(text string, cpu time.Duration) (*wrkResult, error) {
	m := wrkLine.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("wrk said nothing to count: %s", text)
	}
	w := &wrkResult{p50: m[4], p99: m[5], cpu: cpu, text: text}
	w.requests, _ = strconv.ParseInt(m[1], 10, 64)
	w.errors, _ = strconv.ParseInt(m[2], 10, 64)
	micros, _ := strconv.ParseInt(m[3], 10, 64)
	w.took = time.Duration(micros) * time.Microsecond
	return w, nil
}

// writeBodies writes n increments, a line each, signed now: they are good for
// a minute.
func (r *rig) writeBodies(path string, n int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	out := bufio.NewWriterSize(f, 1<<20)
	signer := client.Signer{KeyID: r.key.KeyID, Secret: r.key.Secret}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano()))), skew, 1, users-1)
	at := time.Now().Add(20 * time.Second) // half of the skew that is accepted
	for range n {
		q := protocol.IncrementRequest{UserID: "user-" + strconv.FormatUint(zipf.Uint64(), 10), Delta: 1 + rand.Int64N(9), EventID: client.NewEventID()}
		signer.Fields(&q, at)
		b, err := json.Marshal(q)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(b, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}
