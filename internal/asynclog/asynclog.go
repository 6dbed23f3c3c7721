// Package asynclog writes a log beside the program: a pipe that is full or closed neither
// delays the program nor ends it. What cannot be written is dropped and counted.
package asynclog

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxWaiting bounds the bytes that wait to be written.
const MaxWaiting = 128 << 10

// Writer writes to another one from a goroutine of its own, which Close ends.
type Writer struct {
	to      io.Writer
	dropped prometheus.Counter
	wake    chan struct{} // holds a token if there is something to do
	ended   chan struct{}

	mu      sync.Mutex
	waiting [][]byte
	size    int // of what waits and of what is being written
	unsaid  int // lines that were dropped and that the log does not mention yet
	closed  bool
}

// New returns a writer to to.
func New(to io.Writer) *Writer {
	w := &Writer{
		to: to, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "scoreboard_log_dropped_total",
			Help: "Lines of the log that were dropped because what reads it is slow or gone.",
		}),
	}
	go w.run()
	return w
}

// Collectors returns the metrics, for registration.
func (w *Writer) Collectors() []prometheus.Collector { return []prometheus.Collector{w.dropped} }

// Write implements io.Writer for one line. It never waits and never fails.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.size+len(line) > MaxWaiting {
		w.drop()
		return len(line), nil
	}
	w.waiting = append(w.waiting, bytes.Clone(line))
	w.size += len(line)
	w.signal()
	return len(line), nil
}

// Close writes what waits, for no longer than wait.
func (w *Writer) Close(wait time.Duration) {
	w.mu.Lock()
	w.closed = true
	w.signal()
	w.mu.Unlock()
	select {
	case <-w.ended:
	case <-time.After(wait):
	}
}

// signal and drop are called with mu.
func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *Writer) drop() {
	w.dropped.Inc()
	w.unsaid++
}

func (w *Writer) run() {
	defer close(w.ended)
	for range w.wake {
		for line := w.next(); line != nil; line = w.next() {
			_, err := w.to.Write(line)
			w.wrote(line, err)
		}
		if w.done() {
			return
		}
	}
}

// next returns the line to write next, nil if there is none.
func (w *Writer) next() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return nil
	}
	line := w.waiting[0]
	w.waiting[0] = nil
	w.waiting = w.waiting[1:]
	return line
}

// wrote notes that a line was written, or was not. After the first one that was written
// again, the log says how many were dropped.
func (w *Writer) wrote(line []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.size -= len(line)
	if err != nil {
		w.drop()
		return
	}
	if w.unsaid == 0 {
		return
	}
	about := fmt.Appendf(nil, `{"time":%q,"level":"WARN","msg":"lines of the log were dropped","count":%d}`+"\n",
		time.Now().Format(time.RFC3339Nano), w.unsaid)
	w.unsaid = 0
	w.size += len(about)
	w.waiting = append([][]byte{about}, w.waiting...)
}

func (w *Writer) done() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed && len(w.waiting) == 0
}
