package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxFrame bounds one message: 100 rows with names and pictures fit well.
const maxFrame = 1 << 20

// websocket follows the stream over one WebSocket until it ends.
func (w *watcher) websocket(ctx context.Context) (lived bool, err error) {
	conn, err := w.dial(ctx)
	if err != nil {
		return false, err
	}
	// Closing the connection is what ends a read, so it must follow ctx.
	stop := context.AfterFunc(ctx, func() {
		goodbye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		_ = conn.WriteControl(websocket.CloseMessage, goodbye, time.Now().Add(100*time.Millisecond))
		_ = conn.Close()
	})
	defer stop()
	defer func() { _ = conn.Close() }()
	conn.SetReadLimit(maxFrame)
	alive := func() { _ = conn.SetReadDeadline(time.Now().Add(w.c.pace.silence)) }
	alive()
	conn.SetPingHandler(func(data string) error {
		alive()
		if lived {
			w.heard(WebSocket)
			w.publish()
		}
		err := conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(time.Second))
		if errors.Is(err, websocket.ErrCloseSent) {
			return nil
		}
		return err
	})
	for {
		_, message, err := conn.ReadMessage()
		if err != nil {
			return lived, closeError(err)
		}
		alive()
		var f protocol.Frame
		if err := json.Unmarshal(message, &f); err != nil {
			return lived, fmt.Errorf("decode a frame: %w", err)
		}
		if err := w.frame(WebSocket, &f); err != nil {
			return lived, err
		}
		lived = true
	}
}

func (w *watcher) dial(ctx context.Context) (*websocket.Conn, error) {
	u := w.c.url("/v1/realtime/leaderboard", w.streamQuery())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	if err := w.c.prepare(req); err != nil {
		return nil, err
	}
	if u.Scheme = "ws"; req.URL.Scheme == "https" {
		u.Scheme = "wss"
	}
	conn, res, err := w.c.dialer.DialContext(ctx, u.String(), req.Header)
	if err == nil {
		return conn, nil
	}
	if res == nil {
		return nil, fmt.Errorf("connect by WebSocket: %w", err)
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	_ = res.Body.Close()
	e := refusal(res, body, w.c.now())
	e.Op, e.Attempts = "connect by WebSocket", 1
	return nil, e
}

// closeError says in the API's words why the server closed the connection.
func closeError(err error) error {
	var closed *websocket.CloseError
	if !errors.As(err, &closed) {
		return fmt.Errorf("read the stream: %w", err)
	}
	e := &Error{Op: "read the stream", Message: closed.Text, Attempts: 1, Err: err}
	switch closed.Code {
	case protocol.CloseToken:
		e.Status, e.Code = http.StatusUnauthorized, scoreboard.CodeUnauthorized
	case protocol.CloseForbidden:
		e.Status, e.Code = http.StatusForbidden, scoreboard.CodeForbidden
	case protocol.CloseLimit:
		e.Status, e.Code = http.StatusTooManyRequests, scoreboard.CodeRateLimited
	default:
		return fmt.Errorf("read the stream: %w", err)
	}
	return e
}
