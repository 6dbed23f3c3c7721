package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A cursor says where a page ends by standing, not by number: who is behind that
// standing comes next, whatever has moved meanwhile. A user who moved up past it
// is not shown again, one who moved down past it is; nobody who keeps their
// place is skipped or comes twice. It is bound to its board (to one period of
// a periodic one) and outlives rebuilds.
//
// Its bytes: a version, the key and the microseconds (8 each, big-endian), the
// length of the board's id, the id, the user, and the MAC.

const (
	cursorVersion   = 1
	cursorHead      = 1 + 8 + 8 + 1
	cursorMAC       = 16
	maxCursorLength = 512
)

func (a *API) cursorMAC(data []byte) []byte {
	mac := hmac.New(sha256.New, a.CursorKey)
	mac.Write([]byte("scoreboard cursor\n"))
	mac.Write(data)
	return mac.Sum(nil)[:cursorMAC]
}

func (a *API) encodeCursor(board scoreboard.BoardID, p scoreboard.Position) string {
	b := make([]byte, 0, cursorHead+len(board)+len(p.User)+cursorMAC)
	b = append(b, cursorVersion)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Key))
	b = binary.BigEndian.AppendUint64(b, uint64(p.ReachedAt.UnixMicro()))
	b = append(b, byte(len(board)))
	b = append(b, board...)
	b = append(b, p.User...)
	return base64.RawURLEncoding.EncodeToString(append(b, a.cursorMAC(b)...))
}

// decodeCursor reads a cursor for a board: an invalid_request for one that is
// not ours or is of another board, and gone for one of a period that is over.
func (a *API) decodeCursor(text string, board *scoreboard.Board) (*scoreboard.Position, error) {
	bad := scoreboard.Invalid("cursor", "cursor must be the next_cursor of a page")
	if len(text) > maxCursorLength {
		return nil, bad
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < cursorHead+cursorMAC || b[0] != cursorVersion {
		return nil, bad
	}
	data, mac := b[:len(b)-cursorMAC], b[len(b)-cursorMAC:]
	if !hmac.Equal(mac, a.cursorMAC(data)) {
		return nil, bad
	}
	rest, length := data[cursorHead:], int(data[cursorHead-1])
	if length > len(rest) {
		return nil, bad
	}
	of := scoreboard.BoardID(rest[:length])
	if of != board.ID {
		if board.Family != board.ID && of.Family() == board.Family {
			return nil, &scoreboard.Error{Code: scoreboard.CodeGone, Field: "cursor", Message: "the period of this cursor is over: read it as board " + string(of)}
		}
		return nil, scoreboard.Invalid("cursor", "cursor is of another board")
	}
	return &scoreboard.Position{
		Key:       int64(binary.BigEndian.Uint64(data[1:])),
		ReachedAt: time.UnixMicro(int64(binary.BigEndian.Uint64(data[9:]))).UTC(),
		User:      scoreboard.UserID(rest[length:]),
	}, nil
}
