package api

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Only issued cursors are accepted, and signed bytes with any content are safe.
func FuzzCursor(f *testing.F) {
	k := cursorKeys{[]byte("k")}
	board := &scoreboard.Board{ID: "global", Family: "global"}
	encode := func(p scoreboard.Position) string {
		return k.encodeCursor(scoreboard.PageCursor{Board: board.ID, Position: p})
	}
	good := encode(scoreboard.Position{Key: -5, ReachedAt: time.UnixMicro(1_800_000_000_000_000), User: "alice"})
	f.Add(good, []byte{})
	f.Add(good[:len(good)-1], append(make([]byte, 18-1), 255))
	f.Add("", append([]byte{1, 17: 6}, "globalbob"...))
	f.Fuzz(func(t *testing.T, text string, payload []byte) {
		p, err := k.decodeCursor(text, board)
		if err == nil && text != good {
			t.Fatalf("%q is accepted as %+v", text, p)
		}
		mac := cursorKey(k[0]).cursorMAC(payload)
		signed := base64.RawURLEncoding.EncodeToString(append(append([]byte{}, payload...), mac...))
		p, err2 := k.decodeCursor(signed, board)
		if err2 == nil && encode(*p) != signed {
			t.Fatalf("%q is parsed as %+v, which encodes differently", payload, p)
		}
		for _, err := range []error{err, err2} {
			if err != nil && wire.CodeOf(err) != wire.CodeInvalidRequest {
				t.Fatalf("got %v, want invalid_request", err)
			}
		}
	})
}
