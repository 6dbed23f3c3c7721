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

// latencyRate is the rate of increments per second, low enough that nothing
// queues.
const latencyRate = 50

// Latency measures the development stack: the time until it is ready, its CPU
// usage when idle, and the time from the commit of an increment to Redis and to a
// WebSocket frame.
func Latency(ctx context.Context, o Options) error {
	sizes := o.sizes()
	dir, err := os.MkdirTemp("", "scoreboard-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, start := range []string{"first", "second"} {
		ready, stop, err := o.startDev(ctx, dir)
		if err != nil {
			return err
		}
		o.printf("- %s start of scoreboardd dev until ready: %s\n", start, ready.Round(time.Millisecond))
		if start == "first" {
			stop()
			continue
		}
		defer stop()
	}
	c, _, err := devClient(dir)
	if err != nil {
		return err
	}
	defer c.Close()
	l := &latencyRun{client: c, pending: map[int64]time.Time{}, frames: make(chan int64, 1000)}
	if err := l.run(ctx, sizes.latency); err != nil {
		return err
	}
	o.printf("- commit → Redis at %d/s: %s\n", latencyRate, quantiles(l.toRedis))
	o.printf("- commit → WebSocket frame at %d/s: %s\n", latencyRate, quantiles(l.toFrame))
	if !o.Quick {
		time.Sleep(2 * time.Second)
	}
	before := cpuOf(os.Getpid())
	time.Sleep(sizes.idle)
	used := cpuOf(os.Getpid()) - before
	o.printf(
		"- idle CPU of the whole stack over %s: %.1f %% of a core\n",
		sizes.idle, 100*used.Seconds()/sizes.idle.Seconds(),
	)
	return nil
}

// startDev starts the development stack on free ports.
func (o *Options) startDev(ctx context.Context, dir string) (ready time.Duration, stop func(), err error) {
	api, err := freeAddr(ctx)
	if err != nil {
		return 0, nil, err
	}
	ops, err := freeAddr(ctx)
	if err != nil {
		return 0, nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), o.program("scoreboardd"),
		"dev", "--data", dir, "--addr", api, "--ops-addr", ops)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, nil, fmt.Errorf("start scoreboardd: %w", err)
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

// devClient returns a client of the development stack, and the environment for
// sbctl.
func devClient(dir string) (*client.Client, []string, error) {
	f, err := os.Open(filepath.Join(dir, "sbctl.env"))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	values := make(map[string]string)
	environ := append(os.Environ(), "SBCTL_PROFILE=")
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), "="); ok {
			values[name] = value
			environ = append(environ, s.Text())
		}
	}
	c, err := client.New(values["SBCTL_SERVER"], client.Options{
		Token: values["SBCTL_TOKEN"], KeyID: values["SBCTL_KEY_ID"], KeySecret: values["SBCTL_KEY_SECRET"],
	})
	return c, environ, err
}

// latencyRun submits increments of one user and measures the time until reads from
// Redis and frames show them. The time starts with the receipt, which arrives
// after the commit.
type latencyRun struct {
	client           *client.Client
	frames           chan int64          // scores in frames
	pending          map[int64]time.Time // times of receipts by score
	seen             int64
	toRedis, toFrame []time.Duration
}

const latencyUser = "latency"

func (l *latencyRun) run(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d+10*time.Second)
	defer cancel()
	states := l.client.Watch(ctx, "", client.WatchOptions{})
	go func() {
		defer close(l.frames)
		for s := range states {
			for _, e := range s.Entries {
				if e.UserID == latencyUser {
					l.frames <- e.Score
				}
			}
		}
	}()
	next := time.Now()
	for n := 1; n <= int(d.Seconds()*latencyRate); n++ {
		receipt, err := l.client.Submit(ctx, client.Increment{User: latencyUser, Delta: 1})
		if err != nil {
			return err
		}
		committed := time.Now()
		l.pending[receipt.NewScore] = committed
		if n%10 == 0 {
			if err := l.followToRedis(ctx, receipt.NewScore, committed); err != nil {
				return err
			}
		}
		next = next.Add(time.Second / latencyRate)
		for time.Now().Before(next) {
			l.readFrames()
			time.Sleep(time.Millisecond)
		}
	}
	for deadline := time.Now().Add(2 * time.Second); len(l.pending) > 0 && time.Now().Before(deadline); {
		l.readFrames()
		time.Sleep(time.Millisecond)
	}
	if len(l.pending) > 0 {
		return errors.New("some increments never appeared in a frame")
	}
	return nil
}

// followToRedis reads the top until it shows a score.
func (l *latencyRun) followToRedis(ctx context.Context, score int64, committed time.Time) error {
	for {
		l.readFrames()
		top, err := l.client.Top(ctx, client.TopQuery{Limit: 1})
		if err != nil {
			return err
		}
		if len(top.Entries) == 1 && top.Entries[0].Score >= score && !top.Degraded {
			l.toRedis = append(l.toRedis, time.Since(committed))
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

// readFrames processes the frames that have arrived.
func (l *latencyRun) readFrames() {
	for {
		select {
		case score := <-l.frames:
			for s := l.seen + 1; s <= score; s++ {
				if at, ok := l.pending[s]; ok {
					l.toFrame = append(l.toFrame, time.Since(at))
					delete(l.pending, s)
				}
			}
			l.seen = max(l.seen, score)
		default:
			return
		}
	}
}

func quantiles(d []time.Duration) string {
	slices.Sort(d)
	at := func(q float64) time.Duration {
		return d[min(int(q*float64(len(d))), len(d)-1)].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %s, p95 %s, p99 %s, max %s (%d samples)", at(.5), at(.95), at(.99), at(1), len(d))
}
