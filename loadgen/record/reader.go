package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// maxValue bounds the size of a JSON entry. The header has a number per second.
const maxValue = 16 << 20

// Visitor receives the entries of a record in their order.
type Visitor struct {
	Header func(Header)
	Hit    func(Hit)
	Sample func(Sample)
	Tick   func(Tick)
	Ending func(Ending)
}

// ReadHeader reads the header of a record and seeks back to its start.
func ReadHeader(r io.ReadSeeker) (h Header, err error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return h, fmt.Errorf("read the record: %w", err)
	}
	defer z.Close()
	d := &reader{in: bufio.NewReader(z)}
	if err := d.entry(Visitor{Header: func(got Header) { h = got }}, true); err != nil {
		return h, fmt.Errorf("read the record: %w", err)
	}
	_, err = r.Seek(0, io.SeekStart)
	return h, err
}

// Visit reads a record. A truncated record, as of a run that crashed, is not an
// error; it has no ending.
func Visit(r io.Reader, v Visitor) error {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("read the record: %w", err)
	}
	defer z.Close()
	d := &reader{in: bufio.NewReaderSize(z, 64<<10), problems: []string{""}}
	for first := true; ; first = false {
		err := d.entry(v, first)
		switch {
		case !first && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
			return nil
		case err != nil:
			return fmt.Errorf("read the record: %w", err)
		}
	}
}

type reader struct {
	in       *bufio.Reader
	problems []string
}

func (d *reader) entry(v Visitor, first bool) error {
	tag, err := d.in.ReadByte()
	if err != nil {
		return err
	}
	if first != (tag == tagHeader) {
		return errors.New("it does not start with a header")
	}
	switch tag {
	case tagHit:
		return d.hit(v)
	case tagProblem:
		var text string
		err := d.value(&text)
		d.problems = append(d.problems, text)
		return err
	case tagHeader:
		var h Header
		if err := d.value(&h); err != nil {
			return err
		}
		if h.Format != format {
			return fmt.Errorf("format %d is not supported; this build reads format %d", h.Format, format)
		}
		v.Header(h)
	case tagSample:
		return decode(d, v.Sample)
	case tagTick:
		return decode(d, v.Tick)
	case tagEnding:
		return decode(d, v.Ending)
	default:
		return fmt.Errorf("unknown entry %q", tag)
	}
	return nil
}

func decode[T any](d *reader, f func(T)) error {
	var value T
	if err := d.value(&value); err != nil {
		return err
	}
	f(value)
	return nil
}

func (d *reader) value(v any) error {
	n, err := binary.ReadUvarint(d.in)
	if err != nil {
		return err
	}
	if n > maxValue {
		return fmt.Errorf("entry of %d bytes is too large", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(d.in, b); err != nil {
		return err
	}
	// Parameters such as the seed do not fit into a float64.
	exact := json.NewDecoder(bytes.NewReader(b))
	exact.UseNumber()
	return exact.Decode(v)
}

func (d *reader) hit(v Visitor) error {
	kind, err := d.in.ReadByte()
	if err != nil {
		return err
	}
	if int(kind) >= Kinds {
		return fmt.Errorf("unknown kind %d of a hit", kind)
	}
	var n [6]uint64
	for i := range n {
		if n[i], err = binary.ReadUvarint(d.in); err != nil {
			return err
		}
	}
	if n[5] >= uint64(len(d.problems)) {
		return errors.New("a hit has an undefined problem")
	}
	us := func(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }
	v.Hit(Hit{
		Kind: Kind(kind), N: int(n[0]), Scheduled: us(n[1]), Late: us(n[2]), Service: us(n[3]),
		Status: int(n[4]), Problem: d.problems[n[5]],
	})
	return nil
}
