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

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxLine bounds one line. The API takes bodies of 4 KiB.
const maxLine = 16 << 10

// item is one line: an increment, or why it is none.
type item struct {
	line int
	in   client.Increment
	sum  uint16 // what it says, without an event id that it was given
	err  error
}

// source gives the lines one by one; io.EOF ends it.
type source interface {
	next() (item, error)
	// identity tells this stream from another by its first line. It is known
	// after the first next.
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

func newNDJSON(r io.Reader) *ndjson { return &ndjson{r: bufio.NewReaderSize(r, maxLine)} }

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

// tooLong drops the rest of a line that no increment can be as long as.
func (n *ndjson) tooLong() (item, error) {
	err := bufio.ErrBufferFull
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = n.r.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return item{}, fmt.Errorf("read line %d: %w", n.line, err)
	}
	return item{line: n.line, err: scoreboard.Errorf(scoreboard.CodePayloadTooLarge, "the line is over %d bytes", maxLine)}, nil
}

func (n *ndjson) parse(text []byte) item {
	var fields struct {
		User   string `json:"user_id"`
		Delta  *int64 `json:"delta"`
		Event  string `json:"event_id"`
		Board  string `json:"board"`
		Action string `json:"action"`
	}
	// A misspelt "board" must not become a point on the global board.
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&fields)
	if err == nil && d.More() {
		err = errors.New("the line holds more than one object")
	}
	if err == nil && fields.Delta == nil {
		err = errors.New("delta is missing")
	}
	if err != nil {
		return item{line: n.line, err: scoreboard.Errorf(scoreboard.CodeInvalidRequest, "%s", inWords(err))}
	}
	return item{line: n.line, in: client.Increment{
		User: fields.User, Delta: *fields.Delta, EventID: fields.Event, Board: fields.Board, Action: fields.Action,
	}}
}

// inWords says what is wrong with a line, where its decoder speaks of Go.
func inWords(err error) string {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field == "delta":
		return "delta must be a whole number"
	case errors.As(err, &kind) && kind.Field != "":
		return kind.Field + " must be a text"
	case errors.As(err, &kind):
		return "the line must be an object"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the line ends in the middle"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// csvSource reads rows below a line of column names.
type csvSource struct {
	r       *csv.Reader
	columns []string
	first   string
}

var csvColumns = []string{"user_id", "delta", "event_id", "board", "action"}

func newCSV(r io.Reader) (*csvSource, error) {
	c := &csvSource{r: csv.NewReader(r)}
	columns, err := c.r.Read()
	if err != nil {
		return nil, fmt.Errorf("read the column names: %w", err)
	}
	for _, name := range columns {
		if !slices.Contains(csvColumns, name) {
			return nil, fmt.Errorf("there is no column %q; there are %v", name, csvColumns)
		}
	}
	if !slices.Contains(columns, "user_id") || !slices.Contains(columns, "delta") {
		return nil, errors.New("the columns user_id and delta must be there")
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
		return item{line: malformed.StartLine, err: scoreboard.Errorf(scoreboard.CodeInvalidRequest, "%v", malformed.Err)}, nil
	case err != nil:
		return item{}, err // io.EOF as it is
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
				it.err = scoreboard.Errorf(scoreboard.CodeInvalidRequest, "delta %q is not an integer", value)
			}
		case "event_id":
			it.in.EventID = value
		case "board":
			it.in.Board = value
		case "action":
			it.in.Action = value
		}
	}
	return it, nil
}

// position is where a source stands, where it can be read twice.
func position(r io.Reader) (at int64, seekable bool) {
	s, ok := r.(io.Seeker)
	if !ok {
		return 0, false
	}
	at, err := s.Seek(0, io.SeekCurrent)
	return at, err == nil // a pipe says that it is a file
}

// compare reads the lines that were sent before anything is sent, and leaves the
// source where it began. A line that has gone moves those below it, which is
// seen too late where each is looked at when its turn comes.
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
	for line := 0; line < kept.said.last; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		it, err := src.next()
		if errors.Is(err, io.EOF) {
			it = item{line: kept.said.last, err: err} // is not there
		} else if err != nil {
			return err
		}
		if line == 0 {
			if err := kept.begin(src.identity()); err != nil {
				return err
			}
		}
		if err := kept.fits(&it); err != nil {
			return err
		}
		line = it.line
	}
	return back()
}
