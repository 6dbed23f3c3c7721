package containers

import (
	"fmt"
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
	user  string
	score atomic.Int64 // of the user, as it was shown last
	ended atomic.Pointer[error]
}

func newViewer(t *testing.T, s *stack, user string) *viewer {
	t.Helper()
	v := &viewer{user: user}
	ws := s.dial(t)
	go func() {
		for {
			var message struct {
				Top []struct {
					User  string `json:"user_id"`
					Score int64  `json:"score"`
				} `json:"top"`
			}
			if err := ws.ReadJSON(&message); err != nil {
				v.ended.Store(&err)
				return
			}
			for _, row := range message.Top {
				if row.User == user {
					v.score.Store(row.Score)
				}
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

// sees waits for a higher score.
func (v *viewer) sees(t *testing.T, before int64) {
	t.Helper()
	v.open(t)
	eventually(t, 30*time.Second, "a change in the stream", func() string {
		if got := v.score.Load(); got <= before {
			return fmt.Sprintf("the score of %s is %d, as before", v.user, got)
		}
		return ""
	})
}
