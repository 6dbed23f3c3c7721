package record

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// The entries of a file.
const (
	tagHeader  = 'h'
	tagHit     = 'r'
	tagProblem = 'p' // defines a problem for later hits
	tagSample  = 's'
	tagTick    = 't'
	tagEnding  = 'z'
)

// maxProblems bounds the number of distinct problems.
const maxProblems = 50

// Writer writes a record. It is not safe for concurrent use. It keeps the first
// error.
type Writer struct {
	compressed *zstd.Encoder
	out        *bufio.Writer
	problems   map[string]uint64
	buf        []byte
	err        error
}

// NewWriter starts a record with its header.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("compress the record: %w", err)
	}
	rec := &Writer{compressed: z, out: bufio.NewWriterSize(z, 64<<10), problems: map[string]uint64{"": 0}}
	h.Format = format
	rec.value(tagHeader, h)
	rec.flush() // a run that cannot be recorded does not start
	return rec, rec.Err()
}

// Err returns the first error.
func (w *Writer) Err() error {
	if w.err != nil {
		return fmt.Errorf("record the results: %w", w.err)
	}
	return nil
}

// Hit records a hit and returns it as a reader of the record will see it: with its times in
// whole microseconds, and with a problem beyond the first ones as "other". A report of the
// returned hits equals one of the record.
func (w *Writer) Hit(h Hit) Hit {
	problem := w.problem(&h.Problem)
	b := append(w.buf[:0], tagHit, byte(h.Kind))
	for _, v := range []uint64{
		uint64(h.N), micros(h.Scheduled), micros(h.Late), micros(h.Service), uint64(h.Status), problem,
	} {
		b = binary.AppendUvarint(b, v)
	}
	w.write(b)
	for _, d := range []*time.Duration{&h.Scheduled, &h.Late, &h.Service} {
		*d = max(*d, 0).Truncate(time.Microsecond)
	}
	return h
}

func micros(d time.Duration) uint64 { return uint64(max(d, 0).Microseconds()) }

// problem returns the number of a problem, and replaces one beyond the bound.
func (w *Writer) problem(text *string) uint64 {
	n, known := w.problems[*text]
	if known {
		return n
	}
	if len(w.problems) >= maxProblems {
		*text = "other"
		if n, known = w.problems[*text]; known {
			return n
		}
	}
	n = uint64(len(w.problems))
	w.problems[*text] = n
	w.value(tagProblem, *text)
	return n
}

// Sample records a sample.
func (w *Writer) Sample(s Sample) { w.value(tagSample, s) }

// Tick records a tick and flushes, so that a crash loses at most a second.
func (w *Writer) Tick(t Tick) {
	w.value(tagTick, t)
	w.flush()
}

func (w *Writer) flush() {
	if w.err == nil {
		w.err = w.out.Flush()
	}
	if w.err == nil {
		w.err = w.compressed.Flush()
	}
}

// Close writes the ending.
func (w *Writer) Close(e Ending) error {
	w.value(tagEnding, e)
	if w.err == nil {
		w.err = w.out.Flush()
	}
	if err := w.compressed.Close(); w.err == nil {
		w.err = err
	}
	return w.Err()
}

func (w *Writer) value(tag byte, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		if w.err == nil {
			w.err = err
		}
		return
	}
	w.write(binary.AppendUvarint([]byte{tag}, uint64(len(b))))
	w.write(b)
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
	}
	w.buf = b[:0:cap(b)]
}
