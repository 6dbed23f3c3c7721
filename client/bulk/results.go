package bulk

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/scoreboard/scoreboard/client/wire"
)

// The outcomes of a line in the result file. Done lines are finished.
// The next run retries rejected and unsent lines, because a token, a ban or a board
// may have changed. Of several results of a line the last one counts.
const (
	Done     = "done"
	Rejected = "rejected"
	Unsent   = "unsent"
)

// Result is the outcome of one line, as stored in the result file.
type Result struct {
	Line     int       `json:"line"`
	Status   string    `json:"status"`
	User     string    `json:"user_id,omitempty"`
	EventID  string    `json:"event_id,omitempty"`
	Score    *int64    `json:"new_score,omitempty"`
	Replayed bool      `json:"replayed,omitempty"`
	Code     wire.Code `json:"error_code,omitempty"`
	Message  string    `json:"message,omitempty"`
	// Sum is a checksum of a line that may have been counted.
	Sum uint16 `json:"sum,omitempty"`
	Err error  `json:"-"` // the cause of Message
}

// header is the first line of a result file.
type header struct {
	Run    uuid.UUID `json:"run"`
	Source string    `json:"source"` // identity of the source
}

// results is the result file of a run; without a path only the run's id.
type results struct {
	header
	file     *os.File
	finished bitset
	sums     sums

	mu sync.Mutex // the reader writes the header, the collector the rest
	w  *bufio.Writer
}

// bitset is the set of lines that an earlier run finished. At one bit each, ten
// million lines take 1.2 MB.
type bitset []uint64

func (b *bitset) add(n int) {
	for len(*b) <= n/64 {
		*b = append(*b, 0)
	}
	(*b)[n/64] |= 1 << (n % 64)
}

func (b bitset) has(n int) bool { return n/64 < len(b) && b[n/64]&(1<<(n%64)) != 0 }

// openResults opens or creates the result file. Without a path nothing is stored.
func openResults(path string) (*results, error) {
	r := &results{header: header{Run: uuid.New()}}
	if path == "" {
		r.w = bufio.NewWriter(io.Discard)
		return r, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	r.file = f
	if err := r.load(path); err != nil {
		_ = f.Close()
		return nil, err
	}
	r.w = bufio.NewWriterSize(f, 64<<10)
	return r, nil
}

// load reads the results of earlier runs and cuts off a last line that a crash left
// incomplete: its increment is sent again and counts once.
func (r *results) load(path string) error {
	lines := bufio.NewReaderSize(r.file, maxLine)
	var whole int64
	for n := 1; ; n++ {
		text, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read line %d of %s: %w", n, path, err)
		}
		whole += int64(len(text))
		if n == 1 {
			if err := json.Unmarshal(text, &r.header); err != nil || r.Source == "" {
				return fmt.Errorf("%s is not a result file; pass another with --results", path)
			}
			continue
		}
		var result Result
		if err := json.Unmarshal(text, &result); err != nil {
			return fmt.Errorf("read line %d of %s: %w", n, path, err)
		}
		if result.Status == Done {
			r.finished.add(result.Line)
		}
		r.sums.set(result.Line, result.Sum)
	}
	if err := r.file.Truncate(whole); err != nil {
		return err
	}
	_, err := r.file.Seek(whole, io.SeekStart)
	return err
}

// ErrSourceChanged is the error of a run whose result file belongs to another source,
// or whose lines were edited after they were sent. The generated event id of a line
// depends on its number, so an increment might count twice.
var ErrSourceChanged = errors.New("the result file belongs to another source")

// begin binds a new file to its source and rejects a file of another source.
func (r *results) begin(identity string) error {
	switch {
	case r.Source == "":
		r.Source = identity
		return r.write(r.header)
	case r.Source != identity:
		return fmt.Errorf("%w; pass another with --results", ErrSourceChanged)
	}
	return nil
}

// checkUnchanged sets a line's checksum and compares it with the one stored when the
// line was sent.
func (r *results) checkUnchanged(it *item) error {
	it.sum = sumOf(it)
	if was := r.sums.at(it.line); was == 0 || was == it.sum {
		return nil
	}
	return fmt.Errorf("%w, or the source was edited: line %d changed after it was sent; "+
		"restore it, and append new lines at the end or submit them in another file", ErrSourceChanged, it.line)
}

func (r *results) write(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.w.Write(append(b, '\n'))
	return err
}

func (r *results) flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.w.Flush()
}

func (r *results) close() error {
	err := r.flush()
	if r.file != nil {
		err = errors.Join(err, r.file.Close())
	}
	return err
}

// eventID generates the event id of a line without one. It is the same for every
// submission of the line in this run.
func (r *results) eventID(line int) string {
	return uuid.NewSHA1(r.Run, fmt.Appendf(nil, "line %d", line)).String()
}

// sums are checksums of the lines that were sent. At 16 bits each, ten million lines
// take 20 MB. An edit of one line goes unnoticed once in 65,535; an edit that moves
// later lines changes many checksums.
type sums struct {
	pages []*[4096]uint16 // 0 for a line that was not sent, or was rejected
	last  int             // the last line with a checksum
}

func (s *sums) set(line int, sum uint16) {
	for len(s.pages) <= line/4096 {
		s.pages = append(s.pages, new([4096]uint16))
	}
	s.pages[line/4096][line%4096] = sum
	if sum != 0 {
		s.last = max(s.last, line)
	}
}

func (s *sums) at(line int) uint16 {
	if line/4096 >= len(s.pages) {
		return 0
	}
	return s.pages[line/4096][line%4096]
}

// sumOf is the checksum of a line; 0 only for a line that is not an increment.
func sumOf(it *item) uint16 {
	if it.err != nil {
		return 0
	}
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%q %d %q %q %q", it.in.User, it.in.Delta, it.in.EventID, it.in.Board, it.in.Action)
	for _, name := range slices.Sorted(maps.Keys(it.in.Attributes)) {
		_, _ = fmt.Fprintf(h, " %q=%q", name, it.in.Attributes[name])
	}
	if len(it.in.Metadata) > 0 {
		_, _ = fmt.Fprintf(h, " with %q", it.in.Metadata)
	}
	if it.in.Subscore != nil {
		_, _ = fmt.Fprintf(h, " and %d", *it.in.Subscore)
	}
	if it.in.IfPeriod != "" {
		_, _ = fmt.Fprintf(h, " if %q", it.in.IfPeriod)
	}
	return uint16(h.Sum32()%0xffff) + 1
}
