package containers

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// dial opens a stream of the board.
func (s *stack) dial(t *testing.T) *websocket.Conn {
	t.Helper()
	ws, resp, err := websocket.DefaultDialer.DialContext(t.Context(),
		strings.Replace(api, "http", "ws", 1)+"/v1/realtime/leaderboard",
		http.Header{"Authorization": {"Bearer " + s.token}})
	if err != nil {
		t.Fatalf("connect a viewer: %v, %+v", err, resp)
	}
	_ = resp.Body.Close()
	t.Cleanup(func() { _ = ws.Close() })
	return ws
}

// viewer follows the board on one connection, whatever fails.
type viewer struct {
	shown atomic.Int64 // states of a healthy ranking
	ended atomic.Pointer[error]
}

func newViewer(t *testing.T, s *stack) *viewer {
	t.Helper()
	v := &viewer{}
	ws := s.dial(t)
	go func() {
		for {
			_, message, err := ws.ReadMessage()
			if err != nil {
				v.ended.Store(&err)
				return
			}
			if strings.Contains(string(message), `"type":"leaderboard.updated"`) &&
				!strings.Contains(string(message), `"degraded":true`) {
				v.shown.Add(1)
			}
		}
	}()
	return v
}

// open requires that the connection is the first one.
func (v *viewer) open(t *testing.T) {
	t.Helper()
	if err := v.ended.Load(); err != nil {
		t.Fatalf("the stream has ended: %v", *err)
	}
}

// sees waits for a state after those that were shown before.
func (v *viewer) sees(t *testing.T, before int64) {
	t.Helper()
	v.open(t)
	eventually(t, 30*time.Second, "a change in the stream", func() string {
		if v.shown.Load() == before {
			return "none was shown"
		}
		return ""
	})
}
