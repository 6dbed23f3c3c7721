package bulk

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/google/uuid"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The outcomes of a line in the result file. Done and pending settle a line;
// what was refused or unsent is tried again by the next run, because a token, a
// ban or a board may have changed. Of several results of a line the last holds.
const (
	Done    = "done"
	Pending = "pending"
	Refused = "refused"
	Unsent  = "unsent"
)

// Result is the outcome of one line, as the result file holds it.
type Result struct {
	Line     int             `json:"line"`
	Status   string          `json:"status"`
	User     string          `json:"user_id,omitempty"`
	EventID  string          `json:"event_id,omitempty"`
	Score    *int64          `json:"new_score,omitempty"`
	Replayed bool            `json:"replayed,omitempty"`
	Code     scoreboard.Code `json:"error_code,omitempty"`
	Message  string          `json:"message,omitempty"`
	// Sum is what the line said, of one that may have been counted.
	Sum uint16 `json:"sum,omitempty"`
	Err error  `json:"-"` // why, where Message is its words
}

// header opens a result file.
type header struct {
	Run    uuid.UUID `json:"run"`
	Source string    `json:"source"` // its identity
}

// results is the result file of a run, or nothing but the run's id.
type results struct {
	header
	file    *os.File
	settled bitset
	said    sums

	mu sync.Mutex // the reader writes the header, the collector the rest
	w  *bufio.Writer
}

// bitset is the set of lines that an earlier run has settled: one bit each, so
// that ten million lines take 1.2 MB.
type bitset []uint64

func (b *bitset) add(n int) {
	for len(*b) <= n/64 {
		*b = append(*b, 0)
	}
	(*b)[n/64] |= 1 << (n % 64)
}

func (b bitset) has(n int) bool { return n/64 < len(b) && b[n/64]&(1<<(n%64)) != 0 }

// openResults opens the file of a run or begins one. Without a path nothing
// is kept.
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

// load reads what earlier runs have settled and cuts off a last line that a
// crash left unfinished: its increment is sent again, and counts once.
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
				return fmt.Errorf("%s is not a result file; name another with --results", path)
			}
			continue
		}
		var result Result
		if err := json.Unmarshal(text, &result); err != nil {
			return fmt.Errorf("read line %d of %s: %w", n, path, err)
		}
		if result.Status == Done || result.Status == Pending {
			r.settled.add(result.Line)
		}
		r.said.set(result.Line, result.Sum)
	}
	if err := r.file.Truncate(whole); err != nil {
		return err
	}
	_, err := r.file.Seek(whole, io.SeekStart)
	return err
}

// ErrOther is in the error of a run whose result file is of another source, or
// of this one before lines that were sent had been edited: an event id without
// which a line came hangs on its number, so it might count twice.
var ErrOther = errors.New("the result file belongs to another source")

// begin ties the file to its source; a file of another source is refused.
func (r *results) begin(identity string) error {
	switch {
	case r.Source == "":
		r.Source = identity
		return r.write(r.header)
	case r.Source != identity:
		return fmt.Errorf("%w; name another with --results", ErrOther)
	}
	return nil
}

// fits sums a line up, and says whether it is what it was when it was sent.
func (r *results) fits(it *item) error {
	it.sum = sumOf(it)
	if was := r.said.at(it.line); was == 0 || was == it.sum {
		return nil
	}
	return fmt.Errorf("%w, or that was edited: line %d is not what it was when it was sent; "+
		"leave such lines as and where they are, and put new ones at the end or into another file", ErrOther, it.line)
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

// eventID is that of a line without one. It is the same whenever the line is
// sent in this run.
func (r *results) eventID(line int) string {
	return uuid.NewSHA1(r.Run, fmt.Appendf(nil, "line %d", line)).String()
}
