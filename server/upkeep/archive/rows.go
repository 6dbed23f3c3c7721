package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxLine bounds a row as JSON. A row has texts of a few hundred bytes.
const maxLine = 1 << 20

// Rows calls do with the rows of a board in all archived partitions that can have rows from a
// time up to another one, the oldest partition first. It returns an unavailable that names the
// file if one is missing or damaged; what do got until then must not be used.
func (a *Archive) Rows(
	ctx context.Context, board scoreboard.BoardID, from, to time.Time, do func(*scoreboard.ArchivedRow) error,
) error {
	names, err := a.store.Detached(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		m, err := readManifest(ctx, a.o.Storage, name)
		if err != nil {
			return unreadable(name+".json", err)
		}
		if m.From.After(to) || !m.To.After(from) {
			continue
		}
		d := &decoder{board: fmt.Appendf(nil, `"board_id":%q`, board), do: do}
		if err := m.read(ctx, a.o.Storage, d.write); err != nil {
			return unreadable(m.File, err)
		}
	}
	return nil
}

// unreadable is what an operator needs to know about a file that cannot be read.
func unreadable(file string, err error) error {
	problem := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		problem = "is missing"
	case errors.Is(err, errDamaged):
		problem = "is damaged: its content differs from the checksum in its manifest"
	default:
		return err
	}
	return &scoreboard.Error{
		Code: wire.CodeUnavailable, Message: fmt.Sprintf("archive file %s %s", file, problem), Err: err,
	}
}

// decoder decodes rows of a board from parts of an archive.
type decoder struct {
	board []byte // of which rows are decoded
	rest  []byte // a line that is not complete
	do    func(*scoreboard.ArchivedRow) error
}

func (d *decoder) write(part []byte) error {
	for {
		line, rest, complete := bytes.Cut(part, []byte{'\n'})
		if !complete {
			if d.rest = append(d.rest, line...); len(d.rest) > maxLine {
				return fmt.Errorf("%w: a row has more than %d bytes", errDamaged, maxLine)
			}
			return nil
		}
		if len(d.rest) > 0 {
			line = append(d.rest, line...)
			d.rest = line[:0]
		}
		if err := d.row(line); err != nil {
			return err
		}
		part = rest
	}
}

// row decodes a line. Most lines of an archive can be of other boards: they are not decoded.
func (d *decoder) row(line []byte) error {
	if !bytes.Contains(line, d.board) {
		return nil
	}
	var r scoreboard.ArchivedRow
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("%w: decode a row: %w", errDamaged, err)
	}
	return d.do(&r)
}
