package realtime

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/internal/retry"
)

type hotFigures struct {
	Subscribers int     `json:"subscribers"`
	Stalled     string  `json:"stalled_at_begin_and_end,omitempty"`
	FramesPS    float64 `json:"frames_per_second"`
	CPU         float64 `json:"server_cpu_us_per_delivery"`
	figures
}

// hot measures the latency of one board that changes all the time.
func hot(ctx context.Context, o Options, t *table) error {
	f, err := o.hot(ctx, o.connections(10_000), 0)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("one hot board, %d subscribers", f.Subscribers)
	if o.Format != "" {
		name += " of " + o.Format
	}
	t.note(name+": commit → frame read p50, p99.9", fmt.Sprintf("%.0f, %.0f ms", f.P50, f.P999))
	t.below(name+": commit → frame read p99", "ms", f.P99, 400)
	t.note(name+": frames delivered", fmt.Sprintf("%.0f/s", f.FramesPS))
	t.below(name+": server CPU per delivery", "µs", f.CPU, 10)
	return o.print("hot", f)
}

// hot measures n subscribers of one board that changes all the time, with stuck
// others that never read.
func (o *Options) hot(ctx context.Context, n, stuck int) (f hotFigures, err error) {
	s, err := o.server(ctx)
	if err != nil {
		return f, err
	}
	defer s.stop()
	c, err := o.startClients(ctx, s.url, n)
	if err != nil {
		return f, err
	}
	defer c.stop()
	if _, err := c.await(ctx, 2*time.Minute, func(g figures) bool { return g.Open == int64(n) }); err != nil {
		return f, err
	}
	if stuck > 0 {
		bad, err := o.startClients(ctx, s.url, stuck, "--stall")
		if err != nil {
			return f, err
		}
		defer bad.stop()
		if _, err := bad.await(ctx, 2*time.Minute, func(g figures) bool { return g.Open == int64(stuck) }); err != nil {
			return f, err
		}
	}
	if err := s.setRate(o.Rate); err != nil {
		return f, err
	}
	if !retry.Sleep(ctx, o.quick(5*time.Second, time.Second)) {
		return f, ctx.Err()
	}
	stuckNow := func() error {
		if s.process == nil || stuck == 0 {
			return nil
		}
		n, err := s.command("stalled")
		f.Stalled = strings.TrimSpace(f.Stalled + " " + n)
		return err
	}
	if err := stuckNow(); err != nil {
		return f, err
	}
	if _, err := c.command("reset"); err != nil {
		return f, err
	}
	before, err := cpu(s.pid)
	if err != nil {
		return f, err
	}
	begin := time.Now()
	if !retry.Sleep(ctx, o.Duration) {
		return f, ctx.Err()
	}
	g, err := c.figures()
	if err != nil {
		return f, err
	}
	after, err := cpu(s.pid)
	if err != nil {
		return f, err
	}
	f.Subscribers, f.figures = n, g
	f.FramesPS = float64(g.Frames) / time.Since(begin).Seconds()
	f.CPU = float64((after - before).Microseconds()) / float64(max(g.Frames, 1))
	return f, stuckNow()
}

// stalled measures connections alone, and then with as many stalled ones. Frames
// are large, so that connections stall soon.
func stalled(ctx context.Context, o Options, t *table) error {
	o.Limit = 100
	n := o.connections(1000)
	alone := 0.0
	for _, stuck := range []int{0, n} {
		f, err := o.hot(ctx, n, stuck)
		if err != nil {
			return err
		}
		if err := o.print("stalled", f); err != nil {
			return err
		}
		if stuck == 0 {
			alone = f.P99
			continue
		}
		t.note(fmt.Sprintf("p99 of %d connections, alone and with %d stalled ones", n, stuck),
			fmt.Sprintf("%.0f, %.0f ms", alone, f.P99))
		t.note("stalled connections at start and end", f.Stalled)
		t.below("p99 with stalled connections", "% above alone", 100*(f.P99-alone)/alone, 20)
	}
	return nil
}
