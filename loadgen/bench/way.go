package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// The load of the way: slow enough that nothing queues.
const (
	wayRate  = 50
	wayTime  = 20 * time.Second
	idleTime = 20 * time.Second
)

// benchWay measures the development stack as a newcomer has it: how soon it is
// ready, what it costs when idle, and how long an increment takes to Redis and
// to a WebSocket.
func benchWay(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "scoreboard-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, what := range []string{"first start", "second start"} {
		ready, stop, err := startDev(ctx, dir)
		if err != nil {
			return err
		}
		fmt.Printf("- %s of scoreboardd dev, until ready: %s\n", what, ready.Round(time.Millisecond))
		if what == "first start" {
			stop()
			continue
		}
		defer stop()
	}
	env, err := readEnv(filepath.Join(dir, "sbctl.env"))
	if err != nil {
		return err
	}
	c, err := client.New(env["SBCTL_SERVER"], client.Options{
		Token: env["SBCTL_TOKEN"], KeyID: env["SBCTL_KEY_ID"], KeySecret: env["SBCTL_KEY_SECRET"],
	})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := wayLatency(ctx, c); err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	before := cpuOf(os.Getpid())
	time.Sleep(idleTime)
	used := cpuOf(os.Getpid()) - before
	fmt.Printf("- idle CPU of the whole stack over %s: %.1f %% of a core\n", idleTime, 100*used.Seconds()/idleTime.Seconds())
	return nil
}

// startDev runs the development stack on free ports.
func startDev(ctx context.Context, dir string) (ready time.Duration, stop func(), err error) {
	api, err := freeAddr(ctx)
	if err != nil {
		return 0, nil, err
	}
	ops, err := freeAddr(ctx)
	if err != nil {
		return 0, nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "bin/scoreboardd", "dev", "--data", dir, "--addr", api, "--ops-addr", ops)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, nil, fmt.Errorf("start bin/scoreboardd: %w", err)
	}
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	if err := await(ctx, "http://"+ops+"/readyz"); err != nil {
		stop()
		return 0, nil, err
	}
	return time.Since(started), stop, nil
}

func readEnv(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	env := make(map[string]string)
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), "="); ok {
			env[name] = value
		}
	}
	return env, nil
}

// wayLatency submits one user's increments, each above the last, and takes the
// time until a read from Redis and a frame show it. The clock starts when the
// receipt is here, which is after the commit.
func wayLatency(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, wayTime+10*time.Second)
	defer cancel()
	states := c.Watch(ctx, "", client.WatchOptions{})
	frames := make(chan int64, 1000)
	go func() {
		defer close(frames)
		for s := range states {
			for _, e := range s.Entries {
				if e.UserID == "way" {
					frames <- e.Score
				}
			}
		}
	}()
	var toRedis, toFrame []time.Duration
	waiting := make(map[int64]time.Time) // score → when its receipt came
	seen := int64(0)
	look := func() {
		for {
			select {
			case score := <-frames:
				for s := seen + 1; s <= score; s++ {
					if at, ok := waiting[s]; ok {
						toFrame = append(toFrame, time.Since(at))
						delete(waiting, s)
					}
				}
				seen = max(seen, score)
			default:
				return
			}
		}
	}
	next := time.Now()
	for n := int64(1); n <= int64(wayTime.Seconds()*wayRate); n++ {
		receipt, err := c.Submit(ctx, client.Increment{User: "way", Delta: 1})
		if err != nil {
			return err
		}
		committed := time.Now()
		waiting[receipt.NewScore] = committed
		if n%10 == 0 { // every tenth is followed to Redis by reading
			for {
				look()
				top, err := c.Top(ctx, client.TopQuery{Limit: 1})
				if err != nil {
					return err
				}
				if len(top.Entries) == 1 && top.Entries[0].Score >= receipt.NewScore && !top.Degraded {
					toRedis = append(toRedis, time.Since(committed))
					break
				}
				time.Sleep(time.Millisecond)
			}
		}
		next = next.Add(time.Second / wayRate)
		for time.Now().Before(next) {
			look()
			time.Sleep(time.Millisecond)
		}
	}
	for deadline := time.Now().Add(2 * time.Second); len(waiting) > 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		look()
	}
	if len(waiting) > 0 {
		return errors.New("some increments were never shown")
	}
	fmt.Printf("- commit → Redis at %d/s: %s\n", wayRate, quantiles(toRedis))
	fmt.Printf("- commit → WebSocket frame at %d/s: %s\n", wayRate, quantiles(toFrame))
	return nil
}

func quantiles(d []time.Duration) string {
	slices.Sort(d)
	at := func(q float64) time.Duration {
		return d[min(int(q*float64(len(d))), len(d)-1)].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %s, p95 %s, p99 %s, most %s (%d samples)", at(.5), at(.95), at(.99), d[len(d)-1].Round(100*time.Microsecond), len(d))
}
