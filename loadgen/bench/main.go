// Command bench measures scoreboard on real parts of its own: PostgreSQL,
// Redis and Apache Kafka as child processes, the daemon as another, and wrk in
// front. It prints figures with machine and commit; it judges nothing.
//
//	go run ./loadgen/bench way      commit → Redis and commit → frame at 50/s, start-up, idle CPU
//	go run ./loadgen/bench ingest   increments over HTTP, and CPU by process
//	go run ./loadgen/bench open     the same at fixed rates, latency from when due
//	go run ./loadgen/bench grown    the rate on a ledger of ten million rows
//	go run ./loadgen/bench read     reads: mixed beside writes, closed loop, from PostgreSQL, many boards
//	go run ./loadgen/bench flood    good traffic beside 5,000 bad signatures a second from one address
//	go run ./loadgen/bench pipeline relay → Kafka → projection → Redis alone, rebuild, verify, replay, a backlog under writes
//	go run ./loadgen/bench store    group commit against a transaction for each
//	go run ./loadgen/bench accept   the acceptance criteria, profile A as it is written, and CPU by process
//	go run ./loadgen/bench chaos    the same in small, with a projector killed and Redis flushed
//	go run ./loadgen/bench most     the highest rate held for two minutes: sync, async, batch
//	go run ./loadgen/bench generator  the generator alone, against a server that does nothing
//
// The daemon is bin/scoreboardd: make bench and its like build it.
// BENCH_USERS (1000000), BENCH_BOARDS (1000) and BENCH_SECONDS (15) scale the reads, BENCH_SCALE (1) the pipeline.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	benches := map[string]func(context.Context) error{
		"way": benchWay, "ingest": benchIngest, "store": benchStore, "open": benchOpen, "grown": benchGrown, "flood": benchFlood, "read": benchRead, "pipeline": benchPipeline,
		"generator": benchGenerator, "accept": benchAccept, "chaos": benchChaos, "most": benchMost, "noop": serveNoop,
		"vegeta": func(context.Context) error { return attackNoop(os.Args[2], os.Args[3]) },
	}
	name := "way"
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	run, ok := benches[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "bench: there is no %q\n", name)
		os.Exit(2)
	}
	fmt.Printf("## %s: commit %s, %s, %d cores, %s, %s\n\n", name, commit(ctx), cpuModel(), runtime.NumCPU(),
		runtime.Version(), time.Now().UTC().Format("2006-01-02 15:04 UTC"))
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return runtime.GOARCH
}
