package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// idleBench watches an installation that nobody uses.
type idleBench struct{ *rig }

// Idle measures what an installation does while nobody uses it: the CPU time and the wake-ups of each
// process, and which statements and commands reach PostgreSQL and Redis how often.
func Idle(ctx context.Context, o Options) error {
	in, err := newDir(o)
	if err != nil {
		return err
	}
	defer in.stop()
	r := idleBench{in}
	own, err := startBackends(ctx, r.dir, map[string]string{"shared_preload_libraries": "pg_stat_statements"})
	if err != nil {
		return err
	}
	r.onStop(own.Stop)
	r.Options.Backends = own
	time.Sleep(r.settle)
	r.watch(r.idle, "without scoreboardd", []watched{
		{"PostgreSQL", own.Postgres.PID()}, {"Kafka", own.Kafka.PID()}, {"Redis", own.Redis.PID()},
	})
	if err := r.start(ctx, nil); err != nil {
		return err
	}
	if err := r.warmByPosts(ctx); err != nil {
		return err
	}
	if _, err := r.drain(ctx); err != nil {
		return err
	}
	time.Sleep(r.settle)
	rdb, err := r.redisClient()
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	if err := rdb.ConfigResetStat(ctx).Err(); err != nil {
		return err
	}
	db, err := pgx.Connect(ctx, r.database)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	for _, statement := range []string{`create extension pg_stat_statements`, `select pg_stat_statements_reset()`} {
		if _, err := db.Exec(ctx, statement); err != nil {
			return err
		}
	}
	took := r.watch(r.idle, "with scoreboardd", []watched{
		{"scoreboardd", r.daemon.Process.Pid},
		{"PostgreSQL", r.Postgres.PID()},
		{"Kafka", r.Kafka.PID()},
		{"Redis", r.Redis.PID()},
	})
	if err := r.printStatements(ctx, db, took); err != nil {
		return err
	}
	return r.printCommands(ctx, rdb, took)
}

// watched is a process, with its children.
type watched struct {
	name string
	pid  int
}

// watch prints what processes do in a time, and returns how long that took.
func (r idleBench) watch(last time.Duration, when string, all []watched) time.Duration {
	cpu, switches := make([]time.Duration, len(all)), make([]int64, len(all))
	started := time.Now()
	for i, p := range all {
		cpu[i], switches[i] = cpuOf(p.pid), wakeUps(p.pid)
	}
	time.Sleep(last)
	took := time.Since(started)
	sum := time.Duration(0)
	r.printf("\n| %s | CPU, %% of a core | wake-ups/s |\n|---|---|---|\n", when)
	for i, p := range all {
		used := cpuOf(p.pid) - cpu[i]
		sum += used
		r.printf("| %s | %.2f | %.0f |\n", p.name,
			100*used.Seconds()/took.Seconds(), float64(wakeUps(p.pid)-switches[i])/took.Seconds())
	}
	r.printf("| sum | %.2f | |\n", 100*sum.Seconds()/took.Seconds())
	return took
}

// wakeUps counts how often the threads of a process and its children have waited for something.
func wakeUps(pid int) (count int64) {
	// The pattern is well-formed.
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, id := range append(strings.Fields(string(children)), strconv.Itoa(pid)) {
		threads, _ := filepath.Glob("/proc/" + id + "/task/[0-9]*/status")
		for _, path := range threads {
			text, err := os.ReadFile(path) //nolint:gosec // of a process that this one has started
			if err != nil {
				continue // the thread has ended
			}
			_, rest, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
			first, _, _ := strings.Cut(rest, "\n")
			n, _ := strconv.ParseInt(strings.TrimSpace(first), 10, 64)
			count += n
		}
	}
	return count
}

// rare is the rate, per second, below which a statement or a command is not listed.
const rare = 0.05

func (r idleBench) printStatements(ctx context.Context, db *pgx.Conn, took time.Duration) error {
	rows, err := db.Query(ctx, `select regexp_replace(query, '\s+', ' ', 'g'), sum(calls), sum(total_exec_time)
from pg_stat_statements group by 1 having sum(calls) >= $1 order by 2 desc, 1`, rare*took.Seconds())
	if err != nil {
		return err
	}
	r.printf("\n| statement | calls/s | ms/s |\n|---|---|---|\n")
	var query string
	var calls, spent float64
	all := 0.0
	_, err = pgx.ForEachRow(rows, []any{&query, &calls, &spent}, func() error {
		all += calls
		text := strings.ReplaceAll(query, "|", `\|`)
		r.printf("| `%s` | %.2f | %.3f |\n", text[:min(len(text), 100)], calls/took.Seconds(), spent/took.Seconds())
		return nil
	})
	r.printf("| sum | %.1f | |\n\n", all/took.Seconds())
	return err
}

func (r idleBench) printCommands(ctx context.Context, rdb *redis.Client, took time.Duration) error {
	info, err := rdb.Info(ctx, "commandstats").Result()
	if err != nil {
		return err
	}
	lines := slices.Sorted(strings.Lines(info))
	r.printf("| command | calls/s |\n|---|---|\n")
	for _, line := range lines {
		rest, found := strings.CutPrefix(line, "cmdstat_")
		if !found {
			continue
		}
		name, values, _ := strings.Cut(rest, ":calls=")
		text, _, _ := strings.Cut(values, ",")
		calls, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("statistics of Redis: %w", err)
		}
		if rate := calls / took.Seconds(); rate >= rare {
			r.printf("| `%s` | %.2f |\n", name, rate)
		}
	}
	return nil
}
