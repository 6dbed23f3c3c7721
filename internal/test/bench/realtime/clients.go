package realtime

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// clientPool is the clients of one process. They reconnect when their connection
// ends.
type clientPool struct {
	kind    string
	limit   int
	format  string
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
	back   *hdrhistogram.Histogram // milliseconds from the last move to the first frame
	moved  time.Time
}

// figures are the measurements of a clientPool.
type figures struct {
	Open      int64   `json:"open"`
	Errors    int64   `json:"errors"`
	LastError string  `json:"last_error,omitempty"`
	Frames    int64   `json:"frames"`
	P50       float64 `json:"p50_ms"` // commit to frame read, of every change
	P99       float64 `json:"p99_ms"`
	P999      float64 `json:"p999_ms"`
	Max       float64 `json:"max_ms"`
	Delivery  float64 `json:"delivery_p99_ms"` // of each frame's newest change, without the window
	Back      int64   `json:"back"`            // first frames since the last move
	BackMax   int64   `json:"back_max_ms"`
}

// Clients runs Options.Connections clients. It reads commands from Options.In:
// "move URL" changes the server, "reset" resets the figures, and "report" prints
// them. It ends at the end of the input.
func Clients(ctx context.Context, o Options) error {
	// The clients are not measured and may use memory to save CPU time.
	debug.SetGCPercent(400)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &clientPool{
		kind: o.Kind, limit: o.Limit, format: o.Format, stall: o.Stall, header: http.Header{}, moved: time.Now(),
	}
	if o.Token != "" {
		c.header.Set("Authorization", "Bearer "+o.Token)
	}
	c.base.Store(&o.URL)
	c.reset()
	dialing := make(chan struct{}, 128)
	var wg sync.WaitGroup
	for id := range o.Connections {
		wg.Go(func() { c.keep(ctx, &watcher{pool: c, id: id}, dialing) })
	}
	for in := bufio.NewScanner(o.In); in.Scan(); {
		command, argument, _ := strings.Cut(in.Text(), " ")
		switch command {
		case "move":
			c.base.Store(&argument)
			c.mu.Lock()
			c.moved = time.Now()
			c.mu.Unlock()
			c.reset()
			fmt.Fprintln(o.Out, "{}")
		case "reset":
			c.reset()
			fmt.Fprintln(o.Out, "{}")
		case "report":
			if err := json.NewEncoder(o.Out).Encode(c.report()); err != nil {
				return fmt.Errorf("report: %w", err)
			}
		}
	}
	cancel()
	wg.Wait()
	return nil
}

// keep keeps w connected. The number of concurrent dials is limited, and a failed
// one is retried after a delay.
func (c *clientPool) keep(ctx context.Context, w *watcher, dialing chan struct{}) {
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

func (c *clientPool) target(id int) string { return *c.base.Load() + path + c.query(id) }

// opened is called with a connection's first frame.
func (c *clientPool) opened(w *watcher) {
	w.free()
	w.counted = true
	c.open.Add(1)
	c.mu.Lock()
	_ = c.back.RecordValue(time.Since(c.moved).Milliseconds()) // within its range
	c.mu.Unlock()
}

// read counts a frame and the latency of the changes that it is the first to
// contain. It does not decode the frame, because the clients share the machine.
func (c *clientPool) read(w *watcher, frame []byte, at time.Time) {
	c.frames.Add(1)
	fields := frameFields[c.format]
	text, ok := field(frame, fields.time)
	version, okay := field(frame, fields.version)
	if !ok || !okay {
		return
	}
	ts, err := time.Parse(time.RFC3339Nano, string(text))
	v, err2 := strconv.ParseInt(string(version), 10, 64)
	if err != nil || err2 != nil {
		c.errors.Add(1)
		return
	}
	// One random change since the last frame represents all of them. Its commit time
	// is interpolated between the times of the two frames.
	if n := v - w.version; w.version > 0 && n > 0 {
		back := ts.Sub(w.ts) * time.Duration(rand.Int64N(n)) / time.Duration(n)
		c.mu.Lock()
		_ = c.times.RecordValues(min(at.Sub(ts.Add(-back)).Microseconds(), maxMicros), n) // within its range
		_ = c.ages.RecordValue(min(at.Sub(ts).Microseconds(), maxMicros))
		c.mu.Unlock()
	}
	w.version, w.ts = v, ts
}

// frameFields are what comes before the time of a frame's newest change and before its
// version, by format. Frames of dialects have no version, but each change of the
// synthetic board adds 1 to the score of the first row.
var frameFields = map[string]struct{ time, version string }{
	"":          {`"ts":"`, `"version":`},
	"highscore": {`"updated_at":"`, `"score":`},
	"delta":     {`"asOf":"`, `"score":`},
	"plain":     {`"updatedAt":"`, `"score":`},
}

// field is the text between a mark and the next delimiter.
func field(frame []byte, mark string) ([]byte, bool) {
	i := bytes.Index(frame, []byte(mark))
	if i < 0 {
		return nil, false
	}
	value := frame[i+len(mark):]
	end := bytes.IndexAny(value, `",}`)
	return value[:max(end, 0)], end >= 0
}

const maxMicros = 600_000_000

func (c *clientPool) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times = hdrhistogram.New(1, maxMicros, 3)
	c.ages = hdrhistogram.New(1, maxMicros, 3)
	c.back = hdrhistogram.New(1, 600_000, 3)
	c.frames.Store(0)
	c.errors.Store(0)
}

func (c *clientPool) report() figures {
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
