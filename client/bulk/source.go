package bulk

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/scoreboard/scoreboard/internal/jsonint"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

// maxLine limits one line. The API accepts bodies up to 4 KiB.
const maxLine = 16 << 10

// item is one line: an increment, or the error of an invalid one.
type item struct {
	line int
	in   client.Increment
	sum  uint16 // checksum, without a generated event id
	err  error
}

// source returns the lines one by one; io.EOF ends it.
type source interface {
	next() (item, error)
	// identity distinguishes sources by their first line. It is known after the first
	// call of next.
	identity() string
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// ndjson reads lines of {user_id, delta, event_id?, board?, action?}.
type ndjson struct {
	r     *bufio.Reader
	line  int
	first string
}

func newNDJSON(r io.Reader) *ndjson { return &ndjson{r: withoutMark(r)} }

// withoutMark skips a byte order mark, which spreadsheets and editors write.
func withoutMark(r io.Reader) *bufio.Reader {
	b := bufio.NewReaderSize(r, maxLine)
	const mark = "\ufeff"
	if start, _ := b.Peek(len(mark)); string(start) == mark { // an error comes again with the first line
		_, _ = b.Discard(len(mark)) // they are buffered
	}
	return b
}

func (n *ndjson) identity() string { return n.first }

func (n *ndjson) next() (item, error) {
	for {
		text, err := n.r.ReadSlice('\n')
		n.line++
		if n.line == 1 {
			n.first = digest(text)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return n.tooLong()
		case err != nil && !errors.Is(err, io.EOF):
			return item{}, fmt.Errorf("read line %d: %w", n.line, err)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return n.parse(text), nil
		}
		if err != nil {
			return item{}, io.EOF
		}
	}
}

// tooLong skips the rest of a line that exceeds maxLine.
func (n *ndjson) tooLong() (item, error) {
	err := bufio.ErrBufferFull
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = n.r.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return item{}, fmt.Errorf("read line %d: %w", n.line, err)
	}
	return item{
		line: n.line,
		err:  lineErrorf(wire.CodePayloadTooLarge, "the line is longer than %d bytes", maxLine),
	}, nil
}

func (n *ndjson) parse(text []byte) item {
	var fields struct {
		User   string `json:"user_id"`
		Delta  *int64 `json:"delta"`
		Event  string `json:"event_id"`
		Board  string `json:"board"`
		Action string `json:"action"`

		Attributes map[string]string `json:"attributes"`
		IfPeriod   string            `json:"if_period"`
		Metadata   wire.Object       `json:"metadata"`
		Subscore   *int64            `json:"subscore"`
	}
	// A misspelt "board" must not become a point on the global board.
	d := json.NewDecoder(bytes.NewReader(jsonint.Plain(text)))
	d.DisallowUnknownFields()
	err := d.Decode(&fields)
	if err == nil && d.More() {
		err = errors.New("unexpected data after the JSON object")
	}
	if err == nil && fields.Delta == nil {
		err = errors.New("delta is required")
	}
	if err != nil {
		return item{line: n.line, err: lineErrorf(wire.CodeInvalidRequest, "%s", humanize(err))}
	}
	return item{line: n.line, in: client.Increment{
		User: fields.User, Delta: *fields.Delta, EventID: fields.Event, Board: fields.Board, Action: fields.Action,
		Attributes: fields.Attributes, IfPeriod: fields.IfPeriod,
		Metadata: json.RawMessage(fields.Metadata), Subscore: fields.Subscore,
	}}
}

// humanize replaces the decoder's errors that mention Go types.
func humanize(err error) string {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && (kind.Field == "delta" || kind.Field == "subscore"):
		return kind.Field + " must be a whole number"
	case errors.As(err, &kind) && strings.HasPrefix(kind.Field, "attributes"):
		return "attributes must be an object of strings"
	case errors.As(err, &kind) && kind.Field != "":
		return kind.Field + " must be a string"
	case errors.As(err, &kind):
		return "the line must be a JSON object"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "unexpected end of the line"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// csvSource reads rows after a line of column names.
type csvSource struct {
	r       *csv.Reader
	columns []string
	first   string
}

var csvColumns = []string{"user_id", "delta", "event_id", "board", "action", "if_period", "subscore"}

func newCSV(r io.Reader) (*csvSource, error) {
	c := &csvSource{r: csv.NewReader(withoutMark(r))}
	columns, err := c.r.Read()
	if err != nil {
		return nil, fmt.Errorf("read the column names: %w", err)
	}
	for _, name := range columns {
		if !slices.Contains(csvColumns, name) {
			return nil, fmt.Errorf("unknown column %q; must be one of %s", name, strings.Join(csvColumns, ", "))
		}
	}
	if !slices.Contains(columns, "user_id") || !slices.Contains(columns, "delta") {
		return nil, errors.New("the columns user_id and delta are required")
	}
	c.columns = slices.Clone(columns)
	c.r.ReuseRecord = true
	return c, nil
}

func (c *csvSource) identity() string { return c.first }

func (c *csvSource) next() (item, error) {
	record, err := c.r.Read()
	var malformed *csv.ParseError
	switch {
	case errors.As(err, &malformed):
		return item{
			line: malformed.StartLine,
			err:  lineErrorf(wire.CodeInvalidRequest, "%v", malformed.Err),
		}, nil
	case err != nil:
		return item{}, err // including io.EOF
	}
	line, _ := c.r.FieldPos(0)
	if c.first == "" {
		c.first = digest(fmt.Appendf(nil, "%q", record))
	}
	it := item{line: line}
	for i, name := range c.columns {
		switch value := record[i]; name {
		case "user_id":
			it.in.User = value
		case "delta":
			if it.in.Delta, err = strconv.ParseInt(value, 10, 64); err != nil {
				it.err = lineErrorf(wire.CodeInvalidRequest, "delta must be a whole number, not %q", value)
			}
		case "event_id":
			it.in.EventID = value
		case "board":
			it.in.Board = value
		case "action":
			it.in.Action = value
		case "if_period":
			it.in.IfPeriod = value
		case "subscore":
			if value == "" { // the row has none
				continue
			}
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				it.err = lineErrorf(wire.CodeInvalidRequest, "subscore must be a whole number, not %q", value)
			}
			it.in.Subscore = &n
		}
	}
	return it, nil
}

// position is the current position of a source, if it can be read twice.
func position(r io.Reader) (at int64, seekable bool) {
	s, ok := r.(io.Seeker)
	if !ok {
		return 0, false
	}
	at, err := s.Seek(0, io.SeekCurrent)
	return at, err == nil // a pipe is a Seeker, too, but Seek fails
}

// compare checks all lines that were sent earlier, before anything is sent, and
// rewinds the source. Checking each line just before it is sent would notice a
// deleted line, which moves all later ones, too late.
func (j *Job) compare(ctx context.Context, begin int64, kept *results) error {
	back := func() error {
		_, err := j.Source.(io.Seeker).Seek(begin, io.SeekStart)
		return err
	}
	if err := back(); err != nil {
		return err
	}
	src, err := j.open(j.Source)
	if err != nil {
		return err
	}
	for line := 0; line < kept.sums.last; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		it, err := src.next()
		if errors.Is(err, io.EOF) {
			it = item{line: kept.sums.last, err: err} // the line is gone
		} else if err != nil {
			return err
		}
		if line == 0 {
			if err := kept.begin(src.identity()); err != nil {
				return err
			}
		}
		if err := kept.checkUnchanged(&it); err != nil {
			return err
		}
		line = it.line
	}
	return back()
}

// countingReader counts the bytes read from the source.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// lineError is why a line is not sent.
type lineError struct {
	code    wire.Code
	message string
}

func lineErrorf(code wire.Code, format string, args ...any) *lineError {
	return &lineError{code, fmt.Sprintf(format, args...)}
}

func (e *lineError) Error() string { return e.message }

// ErrorCode returns the code, for wire.CodeOf.
func (e *lineError) ErrorCode() wire.Code { return e.code }
