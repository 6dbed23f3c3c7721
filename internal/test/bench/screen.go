package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/client"
)

const (
	// screenRate is the rate of updates per second while the screen is measured.
	screenRate = 50
	// screenUsers is how many users the board has.
	screenUsers = 60
)

// Screen measures sbctl watch on a terminal of 120x40 with true colours: its CPU time
// and the bytes that it writes, on an idle board and at 50 updates per second.
func Screen(ctx context.Context, o Options) error {
	sizes := o.sizes()
	dir, err := os.MkdirTemp("", "scoreboard-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	_, stop, err := o.startDev(ctx, dir)
	if err != nil {
		return err
	}
	defer stop()
	c, environ, err := devClient(dir)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := gain(ctx, c, screenUsers, 1000); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, o.program("sbctl"), "watch")
	cmd.Env = append(environ, "TERM=xterm-256color", "COLORTERM=truecolor")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		return fmt.Errorf("start sbctl watch: %w", err)
	}
	var written atomic.Int64
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 64<<10)
		for {
			n, err := terminal.Read(b)
			written.Add(int64(n))
			if err != nil {
				return
			}
		}
	}()
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-read
		_ = terminal.Close()
		_ = cmd.Wait()
	}()
	if !o.Quick {
		time.Sleep(70 * time.Second) // until the trends of the first scores have passed
	}
	measure := func(what string, during time.Duration, work func() error) error {
		cpu, bytes, start, machine := cpuOf(cmd.Process.Pid), written.Load(), time.Now(), readMachine()
		if err := work(); err != nil {
			return err
		}
		took := max(time.Since(start), during).Seconds()
		busy, _ := machine.since(readMachine())
		o.printf("- %s, over %.0f s: %.1f %% of a core, %.1f kB/s to the terminal (the machine was busy for %.0f %%)\n",
			what, took, 100*(cpuOf(cmd.Process.Pid)-cpu).Seconds()/took, float64(written.Load()-bytes)/1000/took, busy)
		return nil
	}
	err = measure("idle", sizes.idle, func() error { time.Sleep(sizes.idle); return nil })
	if err != nil {
		return err
	}
	return measure(fmt.Sprintf("%d updates/s", screenRate), sizes.latency, func() error {
		updates, updatesCtx := errgroup.WithContext(ctx)
		updates.SetLimit(screenRate) // a slow server delays no update, unless by a second
		tick := time.NewTicker(time.Second / screenRate)
		defer tick.Stop()
		for n := range int(sizes.latency.Seconds() * screenRate) {
			updates.Go(func() error { return gain(updatesCtx, c, 1, int64(n)) })
			<-tick.C
		}
		return updates.Wait()
	})
}

// gain adds points to n users, of which the first depends on the points.
func gain(ctx context.Context, c *client.Client, n int, points int64) error {
	all := make([]client.Increment, n)
	for i := range all {
		user := (int64(i) + points*7) % screenUsers
		all[i] = client.Increment{User: fmt.Sprintf("player-%02d", user), Delta: 1 + points%97 + int64(i)}
	}
	results, err := c.SubmitBatch(ctx, all)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}
