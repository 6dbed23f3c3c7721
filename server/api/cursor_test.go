package api

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// No text but one of ours passes for a cursor, and what is signed as one can be
// any bytes.
func FuzzCursor(f *testing.F) {
	a := &API{Options: Options{CursorKey: []byte("k")}}
	board := &scoreboard.Board{ID: "global", Family: "global"}
	good := a.encodeCursor(board.ID, scoreboard.Position{Key: -5, ReachedAt: time.UnixMicro(1_800_000_000_000_000), User: "alice"})
	f.Add(good, []byte{})
	f.Add(good[:len(good)-1], append(make([]byte, cursorHead-1), 255))
	f.Add("", append([]byte{cursorVersion, 17: 6}, "globalbob"...))
	f.Fuzz(func(t *testing.T, text string, payload []byte) {
		p, err := a.decodeCursor(text, board)
		if err == nil && text != good {
			t.Fatalf("%q is accepted as %+v", text, p)
		}
		signed := base64.RawURLEncoding.EncodeToString(append(append([]byte{}, payload...), a.cursorMAC(payload)...))
		p, err2 := a.decodeCursor(signed, board)
		if err2 == nil && a.encodeCursor(board.ID, *p) != signed {
			t.Fatalf("%q is read as %+v, which is written otherwise", payload, p)
		}
		for _, err := range []error{err, err2} {
			if err != nil && scoreboard.CodeOf(err) != scoreboard.CodeInvalidRequest {
				t.Fatalf("got %v, want invalid_request", err)
			}
		}
	})
}
