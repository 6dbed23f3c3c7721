package api

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	cursorMAC       = 16 // bytes, at the end of a cursor
	maxCursorLength = 512
)

// cursorKey signs and encrypts the cursors of pages.
type cursorKey []byte

func (k cursorKey) cursorMAC(data []byte) []byte {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte("scoreboard cursor\n"))
	mac.Write(data)
	return mac.Sum(nil)[:cursorMAC]
}

// encryptedVersion begins an encrypted cursor. No signed one begins with it.
const encryptedVersion = 2

// cipher encrypts cursors that contain the id of a hidden user.
func (k cursorKey) cipher() cipher.AEAD {
	key := hmac.New(sha256.New, k)
	key.Write([]byte("scoreboard sealed cursor\n"))
	block, err := aes.NewCipher(key.Sum(nil))
	if err != nil {
		panic(err) // the key has a valid length
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has blocks of the size that GCM requires
	}
	return aead
}

// encryptCursor encrypts a cursor, whose user clients must not learn. The same cursor is always
// encrypted to the same text, as the tag of a page requires: the nonce depends on it.
func (k cursorKey) encryptCursor(cursor scoreboard.PageCursor) string {
	b := cursor.Append(make([]byte, 0, 128))
	aead := k.cipher()
	out := append(make([]byte, 0, 192), encryptedVersion)
	out = append(out, k.cursorMAC(b)[:aead.NonceSize()]...)
	return base64.RawURLEncoding.EncodeToString(aead.Seal(out, out[1:], b, nil))
}

// decryptCursor decrypts what encryptCursor has encrypted.
func (k cursorKey) decryptCursor(b []byte) (data []byte, ok bool) {
	aead := k.cipher()
	if len(b) < 1+aead.NonceSize() {
		return nil, false
	}
	b = b[1:]
	data, err := aead.Open(nil, b[:aead.NonceSize()], b[aead.NonceSize():], nil)
	return data, err == nil
}

// encodeCursor signs a cursor, so that clients cannot make up positions.
func (k cursorKey) encodeCursor(cursor scoreboard.PageCursor) string {
	b := cursor.Append(make([]byte, 0, 128))
	return base64.RawURLEncoding.EncodeToString(append(b, k.cursorMAC(b)...))
}

// decodeCursor verifies a cursor and returns its position on a board: an
// invalid_request for one that was not issued for it, gone for one of an earlier
// period.
func (k cursorKey) decodeCursor(text string, board *scoreboard.Board) (*scoreboard.Position, error) {
	invalid := scoreboard.Invalid("cursor", "cursor must be the next_cursor of a page")
	if len(text) > maxCursorLength {
		return nil, invalid
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < cursorMAC {
		return nil, invalid
	}
	data, mac := b[:len(b)-cursorMAC], b[len(b)-cursorMAC:]
	genuine := hmac.Equal(mac, k.cursorMAC(data))
	if b[0] == encryptedVersion {
		data, genuine = k.decryptCursor(b)
	}
	if !genuine {
		return nil, invalid
	}
	cursor, ok := scoreboard.ParsePageCursor(data)
	if !ok {
		return nil, invalid
	}
	return cursor.PositionOn(board)
}
