package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// server is what is measured: ours, or one that -url names.
type server struct {
	*process // nil for one that is not ours
	url      string
	pid      int
}

func (o options) server(ctx context.Context) (*server, error) {
	if o.url != "" {
		return &server{url: o.url, pid: o.pid}, nil
	}
	p, err := start(ctx, "serve")
	if err != nil {
		return nil, err
	}
	url, err := p.line()
	return &server{p, url, p.cmd.Process.Pid}, err
}

func (s *server) stop() {
	if s.process != nil {
		s.process.stop()
	}
}

// change sets the rate of changes; another's server is changed by others.
func (s *server) change(rate int) error {
	if s.process == nil {
		return nil
	}
	_, err := s.ask("rate " + strconv.Itoa(rate))
	return err
}

func (o options) crowd(ctx context.Context, url string, n int, more ...string) (*process, error) {
	args := []string{"clients", "-url", url, "-token", o.token, "-n", strconv.Itoa(n), "-kind", o.kind, "-limit", strconv.Itoa(o.limit)}
	return start(ctx, append(args, more...)...)
}

func all(ctx context.Context, o options) error {
	for _, scenario := range []func(context.Context, options) error{idle, hot, stalled, storm, most} {
		if err := scenario(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// print writes one scenario's figures.
func print(scenario string, of any) error {
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"scenario": scenario, "figures": of})
}

type idleFigures struct {
	Kind        string  `json:"kind"`
	Connections int     `json:"connections"`
	Bytes       int64   `json:"rss_bytes_per_connection"`
	CPU         float64 `json:"cpu_percent_of_a_core_per_10000"`
}

// idle opens connections, lets pings go round, and divides.
func idle(ctx context.Context, o options) error {
	for _, kind := range []string{"websocket", "sse"} {
		o.kind = kind
		f, err := o.idle(ctx, cmp.Or(o.n, 15_000))
		if err != nil {
			return fmt.Errorf("idle %s: %w", kind, err)
		}
		if err := print("idle", f); err != nil {
			return err
		}
		memory := map[string]float64{"websocket": 8, "sse": 20}[kind]
		o.table.below(fmt.Sprintf("idle %s, %d: memory of each", kind, f.Connections), "KB", float64(f.Bytes)/1000, memory)
		o.table.below(fmt.Sprintf("idle %s: CPU for 10,000", kind), "% of a core", f.CPU, 3)
	}
	return nil
}

func (o options) idle(ctx context.Context, n int) (f idleFigures, err error) {
	s, err := o.server(ctx)
	if err != nil {
		return f, err
	}
	defer s.stop()
	// The first connections pay for what all share.
	for _, part := range []int{100, n} {
		before, err := rss(s.pid)
		if err != nil {
			return f, err
		}
		c, err := o.crowd(ctx, s.url, part)
		if err != nil {
			return f, err
		}
		defer c.stop()
		if _, err := c.await(ctx, 2*time.Minute, func(g figures) bool { return g.Open == int64(part) }); err != nil {
			return f, err
		}
		if part != n {
			continue
		}
		begin, err := cpu(s.pid)
		if err != nil {
			return f, err
		}
		if err := pause(ctx, o.duration); err != nil {
			return f, err
		}
		used, err := cpu(s.pid)
		if err != nil {
			return f, err
		}
		after, err := rss(s.pid)
		if err != nil {
			return f, err
		}
		f = idleFigures{
			Kind: o.kind, Connections: n, Bytes: (after - before) / int64(n),
			CPU: 100 * (used - begin).Seconds() / o.duration.Seconds() * 10_000 / float64(n),
		}
	}
	return f, nil
}

// mostTried ends where the files of a process usually do.
var mostTried = [...]int{5000, 10_000, 15_000, 19_000}

// most looks for the most subscribers whose p99 is within a second.
func most(ctx context.Context, o options) error {
	within := 0
	defer func() {
		o.table.note("most subscribers with p99 within a second", fmt.Sprintf("%d of at most %d tried", within, mostTried[len(mostTried)-1]))
	}()
	for _, n := range mostTried {
		f, err := o.hot(ctx, n, 0)
		if err != nil {
			return fmt.Errorf("most: %w", err)
		}
		if err := print("most", f); err != nil {
			return err
		}
		if f.P99 > 1000 {
			return nil
		}
		within = n
	}
	return nil
}

// storm lets all clients of one node come to another at once.
func storm(ctx context.Context, o options) error {
	n := cmp.Or(o.n, 5000)
	from, err := o.server(ctx)
	if err != nil {
		return err
	}
	defer from.stop()
	to, err := o.server(ctx)
	if err != nil {
		return err
	}
	defer to.stop()
	if from.process == nil {
		return fmt.Errorf("storm needs nodes of its own")
	}
	c, err := o.crowd(ctx, from.url, n)
	if err != nil {
		return err
	}
	defer c.stop()
	if _, err := c.await(ctx, 2*time.Minute, func(g figures) bool { return g.Open == int64(n) }); err != nil {
		return err
	}
	if err := to.change(o.rate); err != nil {
		return err
	}
	if _, err := c.ask("move " + to.url); err != nil {
		return err
	}
	if _, err := from.ask("drain"); err != nil {
		return err
	}
	g, err := c.await(ctx, time.Minute, func(g figures) bool { return g.Back == int64(n) })
	if err != nil {
		return fmt.Errorf("storm: %w", err)
	}
	reads, err := to.ask("reads")
	if err != nil {
		return err
	}
	count, err := strconv.ParseFloat(strings.TrimSpace(reads), 64)
	if err != nil {
		return fmt.Errorf("reads %q: %w", reads, err)
	}
	o.table.below(fmt.Sprintf("%d reconnecting at once: all back with a snapshot", n), "s", float64(g.BackMax)/1000, 5)
	o.table.below(fmt.Sprintf("%d reconnecting at once: reads of the board", n), "", count, 50)
	return print("storm", map[string]any{
		"clients": n, "all_back_ms": g.BackMax, "reads_of_the_board": reads, "failed_dials": g.Errors,
	})
}
