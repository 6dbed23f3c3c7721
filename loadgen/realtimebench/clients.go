package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// crowd is the clients of one process. They come back when they are closed.
type crowd struct {
	kind    string
	limit   int
	stall   bool
	header  http.Header
	buffers sync.Pool

	base   atomic.Pointer[string]
	open   atomic.Int64
	errors atomic.Int64
	last   atomic.Pointer[string] // error

	frames atomic.Int64
	mu     sync.Mutex
	times  *hdrhistogram.Histogram // microseconds from each change to its first frame read
	ages   *hdrhistogram.Histogram // microseconds from a frame's newest change to its reading
	back   *hdrhistogram.Histogram // milliseconds from the last move to a first frame
	moved  time.Time
}

// figures is what a crowd reports.
type figures struct {
	Open      int64   `json:"open"`
	Errors    int64   `json:"errors"`
	LastError string  `json:"last_error,omitempty"`
	Frames    int64   `json:"frames"`
	P50       float64 `json:"p50_ms"` // commit to frame read, of every change
	P99       float64 `json:"p99_ms"`
	P999      float64 `json:"p999_ms"`
	Max       float64 `json:"max_ms"`
	Delivery  float64 `json:"delivery_p99_ms"` // of each frame's newest change: without the window
	Back      int64   `json:"back"`            // first frames since the crowd moved
	BackMax   int64   `json:"back_max_ms"`
}

// clients is the process of a crowd. On stdin: `move URL` is where to connect
// from now on, `reset` begins to count, `report` prints the figures. It ends
// with its stdin.
func clients(ctx context.Context, o options) error {
	// The generator is not what is measured; it may use memory to save CPU.
	debug.SetGCPercent(400)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &crowd{kind: o.kind, limit: o.limit, stall: o.stall, header: http.Header{}, moved: time.Now()}
	if o.token != "" {
		c.header.Set("Authorization", "Bearer "+o.token)
	}
	c.base.Store(&o.url)
	c.reset()
	dialing := make(chan struct{}, 128)
	var wg sync.WaitGroup
	for id := range o.n {
		wg.Go(func() { c.keep(ctx, &watcher{crowd: c, id: id}, dialing) })
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		command, argument, _ := strings.Cut(in.Text(), " ")
		switch command {
		case "move":
			c.base.Store(&argument)
			c.mu.Lock()
			c.moved = time.Now()
			c.mu.Unlock()
			c.reset()
			fmt.Println("{}")
		case "reset":
			c.reset()
			fmt.Println("{}")
		case "report":
			if err := json.NewEncoder(os.Stdout).Encode(c.report()); err != nil {
				return fmt.Errorf("report: %w", err)
			}
		}
	}
	cancel()
	wg.Wait()
	return nil
}

// keep connects w again and again. Only so many dial at a time, and one who was
// refused pauses.
func (c *crowd) keep(ctx context.Context, w *watcher, dialing chan struct{}) {
	for ctx.Err() == nil {
		dialing <- struct{}{}
		w.free = sync.OnceFunc(func() { <-dialing })
		err := w.watch(ctx)
		w.free()
		if w.counted {
			w.counted = false
			c.open.Add(-1)
			continue
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		c.errors.Add(1)
		text := err.Error()
		c.last.Store(&text)
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (c *crowd) target(id int) string { return *c.base.Load() + path + c.query(id) }

// opened is called with a connection's first frame.
func (c *crowd) opened(w *watcher) {
	w.free()
	w.counted = true
	c.open.Add(1)
	c.mu.Lock()
	_ = c.back.RecordValue(time.Since(c.moved).Milliseconds()) // within its range
	c.mu.Unlock()
}

// read counts a frame, and how long the changes took that it is the first to
// show. It is read without decoding, because the generator shares the machine.
func (c *crowd) read(w *watcher, frame []byte, at time.Time) {
	c.frames.Add(1)
	text, ok := field(frame, `"ts":"`, '"')
	version, okay := field(frame, `"version":`, ',')
	if !ok || !okay {
		return
	}
	ts, err := time.Parse(time.RFC3339Nano, string(text))
	v, err2 := strconv.ParseInt(string(version), 10, 64)
	if err != nil || err2 != nil {
		c.errors.Add(1)
		return
	}
	// One change of those since the last frame stands for all of them; its
	// commit lies between the two frames' times as its version between theirs.
	if n := v - w.version; w.version > 0 && n > 0 {
		back := ts.Sub(w.ts) * time.Duration(rand.Int64N(n)) / time.Duration(n)
		c.mu.Lock()
		_ = c.times.RecordValues(min(at.Sub(ts.Add(-back)).Microseconds(), maxMicros), n) // within its range
		_ = c.ages.RecordValue(min(at.Sub(ts).Microseconds(), maxMicros))
		c.mu.Unlock()
	}
	w.version, w.ts = v, ts
}

func field(frame []byte, mark string, end byte) ([]byte, bool) {
	i := bytes.Index(frame, []byte(mark))
	if i < 0 {
		return nil, false
	}
	value, _, ok := bytes.Cut(frame[i+len(mark):], []byte{end})
	return value, ok
}

const maxMicros = 600_000_000

func (c *crowd) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times = hdrhistogram.New(1, maxMicros, 3)
	c.ages = hdrhistogram.New(1, maxMicros, 3)
	c.back = hdrhistogram.New(1, 600_000, 3)
	c.frames.Store(0)
	c.errors.Store(0)
}

func (c *crowd) report() figures {
	c.mu.Lock()
	defer c.mu.Unlock()
	ms := func(q float64) float64 { return float64(c.times.ValueAtQuantile(q)) / 1000 }
	f := figures{
		Open: c.open.Load(), Errors: c.errors.Load(), Frames: c.frames.Load(),
		P50: ms(50), P99: ms(99), P999: ms(99.9), Max: float64(c.times.Max()) / 1000,
		Delivery: float64(c.ages.ValueAtQuantile(99)) / 1000,
		Back:     c.back.TotalCount(), BackMax: c.back.Max(),
	}
	if e := c.last.Load(); e != nil {
		f.LastError = *e
	}
	return f
}
