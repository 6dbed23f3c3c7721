package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	cursorMAC       = 16 // bytes, at the end of a cursor
	maxCursorLength = 512
)

func (a *API) cursorMAC(data []byte) []byte {
	mac := hmac.New(sha256.New, a.CursorKey)
	mac.Write([]byte("scoreboard cursor\n"))
	mac.Write(data)
	return mac.Sum(nil)[:cursorMAC]
}

// encodeCursor signs a cursor, so that clients cannot make up positions.
func (a *API) encodeCursor(cursor scoreboard.PageCursor) string {
	b := cursor.Append(make([]byte, 0, 128))
	return base64.RawURLEncoding.EncodeToString(append(b, a.cursorMAC(b)...))
}

// decodeCursor verifies a cursor and returns its position on a board: an
// invalid_request for one that was not issued for it, gone for one of an earlier
// period.
func (a *API) decodeCursor(text string, board *scoreboard.Board) (*scoreboard.Position, error) {
	invalid := scoreboard.Invalid("cursor", "cursor must be the next_cursor of a page")
	if len(text) > maxCursorLength {
		return nil, invalid
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < cursorMAC {
		return nil, invalid
	}
	data, mac := b[:len(b)-cursorMAC], b[len(b)-cursorMAC:]
	if !hmac.Equal(mac, a.cursorMAC(data)) {
		return nil, invalid
	}
	cursor, ok := scoreboard.ParsePageCursor(data)
	if !ok {
		return nil, invalid
	}
	return cursor.PositionOn(board)
}
