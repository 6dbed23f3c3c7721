package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

type hotFigures struct {
	Subscribers int     `json:"subscribers"`
	Stalled     string  `json:"stalled_at_begin_and_end,omitempty"`
	FramesPS    float64 `json:"frames_per_second"`
	CPU         float64 `json:"server_cpu_us_per_delivery"`
	figures
}

func hot(ctx context.Context, o options) error {
	f, err := o.hot(ctx, cmp.Or(o.n, 10_000), 0)
	if err != nil {
		return fmt.Errorf("hot: %w", err)
	}
	what := fmt.Sprintf("one hot board, %d subscribers", f.Subscribers)
	o.table.note(what+": commit → frame read p50, p99.9", fmt.Sprintf("%.0f, %.0f ms", f.P50, f.P999))
	o.table.below(what+": commit → frame read p99", "ms", f.P99, 400)
	o.table.note(what+": frames delivered", fmt.Sprintf("%.0f/s", f.FramesPS))
	o.table.below(what+": server CPU of a delivery", "µs", f.CPU, 10)
	return print("hot", f)
}

// hot has n subscribers, and stuck ones beside who never read, of one board
// that changes all the time.
func (o options) hot(ctx context.Context, n, stuck int) (f hotFigures, err error) {
	s, err := o.server(ctx)
	if err != nil {
		return f, err
	}
	defer s.stop()
	c, err := o.crowd(ctx, s.url, n)
	if err != nil {
		return f, err
	}
	defer c.stop()
	if _, err := c.await(ctx, 2*time.Minute, func(g figures) bool { return g.Open == int64(n) }); err != nil {
		return f, err
	}
	if stuck > 0 {
		bad, err := o.crowd(ctx, s.url, stuck, "-stall")
		if err != nil {
			return f, err
		}
		defer bad.stop()
		if _, err := bad.await(ctx, 2*time.Minute, func(g figures) bool { return g.Open == int64(stuck) }); err != nil {
			return f, err
		}
	}
	if err := s.change(o.rate); err != nil {
		return f, err
	}
	if err := pause(ctx, 5*time.Second); err != nil {
		return f, err
	}
	stuckNow := func() error {
		if s.process == nil || stuck == 0 {
			return nil
		}
		n, err := s.ask("stalled")
		f.Stalled = strings.TrimSpace(f.Stalled + " " + n)
		return err
	}
	if err := stuckNow(); err != nil {
		return f, err
	}
	if _, err := c.ask("reset"); err != nil {
		return f, err
	}
	before, err := cpu(s.pid)
	if err != nil {
		return f, err
	}
	begin := time.Now()
	if err := pause(ctx, o.duration); err != nil {
		return f, err
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

// stalled measures the good ones alone, then with as many stalled beside. The
// frames are the large ones, so that the stalled stall soon.
func stalled(ctx context.Context, o options) error {
	o.limit = 100
	n := cmp.Or(o.n, 1000)
	alone := 0.0
	for _, stuck := range []int{0, n} {
		f, err := o.hot(ctx, n, stuck)
		if err != nil {
			return fmt.Errorf("stalled: %w", err)
		}
		if err := print("stalled", f); err != nil {
			return err
		}
		if stuck == 0 {
			alone = f.P99
			continue
		}
		o.table.note(fmt.Sprintf("%d good readers, alone and beside %d stalled: p99", n, stuck), fmt.Sprintf("%.0f, %.0f ms", alone, f.P99))
		o.table.note("connections stalled at begin and end", f.Stalled)
		o.table.below("good readers' p99 beside stalled ones", "% above alone", 100*(f.P99-alone)/alone, 20)
	}
	return nil
}
