package scoreboard

import (
	"encoding/binary"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// PageCursor is where a page of a board ends: a position, not an offset, so that the
// next page continues below it however the board has changed. A user who moved up
// past it is not shown again, one who moved down past it is; users who keep their
// position are neither skipped nor repeated. A cursor is bound to one board (to one
// period of a periodic one) and outlives rebuilds.
type PageCursor struct {
	Board BoardID
	Position
}

const (
	cursorVersion = 1
	pairCursor    = 2 // with the key of a subscore
	cursorHeader  = 1 + 8 + 8 + 1
)

// Append appends the cursor: a version, the order key, that of the subscore if it is not 0, and the
// microseconds of the time (8 bytes each, big-endian), the length of the board's id, the id and
// the user.
func (c *PageCursor) Append(b []byte) []byte {
	if c.SubKey == 0 {
		b = append(b, cursorVersion)
		b = binary.BigEndian.AppendUint64(b, uint64(c.Key))
	} else {
		b = append(b, pairCursor)
		b = binary.BigEndian.AppendUint64(b, uint64(c.Key))
		b = binary.BigEndian.AppendUint64(b, uint64(c.SubKey))
	}
	b = binary.BigEndian.AppendUint64(b, uint64(c.ReachedAt.UnixMicro()))
	b = append(b, byte(len(c.Board)))
	b = append(b, c.Board...)
	return append(b, c.User...)
}

// ParsePageCursor parses what Append has written.
func ParsePageCursor(b []byte) (c PageCursor, ok bool) {
	header := cursorHeader
	if len(b) > 0 && b[0] == pairCursor {
		header += 8
	}
	if len(b) < header || b[0] != cursorVersion && b[0] != pairCursor {
		return c, false
	}
	rest, length := b[header:], int(b[header-1])
	if length > len(rest) {
		return c, false
	}
	var subKey int64
	if b[0] == pairCursor {
		subKey = int64(binary.BigEndian.Uint64(b[9:]))
	}
	return PageCursor{Board: BoardID(rest[:length]), Position: Position{
		Key:       int64(binary.BigEndian.Uint64(b[1:])),
		SubKey:    subKey,
		ReachedAt: time.UnixMicro(int64(binary.BigEndian.Uint64(b[header-9:]))).UTC(),
		User:      UserID(rest[length:]),
	}}, true
}

// PositionOn returns the position on a board: an invalid_request for a cursor of
// another board, gone for one of an earlier period.
func (c *PageCursor) PositionOn(board *Board) (*Position, error) {
	switch {
	case c.Board == board.ID:
		return &c.Position, nil
	case board.Family != board.ID && c.Board.Family() == board.Family:
		return nil, &Error{
			Code: wire.CodeGone, Field: "cursor",
			Message: "the period of this cursor has ended; read it as board " + string(c.Board),
		}
	}
	return nil, Invalid("cursor", "cursor belongs to another board")
}
