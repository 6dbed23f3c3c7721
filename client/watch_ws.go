package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client/wire"
)

// maxMessage limits one message; 100 rows with names and avatars are far smaller.
const maxMessage = 1 << 20

// websocket follows the stream over one WebSocket until it ends.
func (w *watcher) websocket(ctx context.Context) (received bool, err error) {
	conn, err := w.dial(ctx)
	if err != nil {
		return false, err
	}
	// Only closing the connection ends a read.
	stop := context.AfterFunc(ctx, func() {
		goodbye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		_ = conn.WriteControl(websocket.CloseMessage, goodbye, time.Now().Add(100*time.Millisecond))
		_ = conn.Close()
	})
	defer stop()
	defer func() { _ = conn.Close() }()
	conn.SetReadLimit(maxMessage)
	extendDeadline := func() { _ = conn.SetReadDeadline(time.Now().Add(w.c.timeouts.maxSilence)) }
	extendDeadline()
	conn.SetPingHandler(func(data string) error {
		extendDeadline()
		received = true
		w.heartbeat(WebSocket)
		err := conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(time.Second))
		if errors.Is(err, websocket.ErrCloseSent) {
			return nil
		}
		return err
	})
	conn.SetPongHandler(func(string) error {
		extendDeadline()
		w.heartbeat(WebSocket)
		return nil
	})
	if w.confirm > 0 {
		defer w.ping(conn)()
	}
	for {
		_, message, err := conn.ReadMessage()
		if err != nil {
			return received, closeError(err)
		}
		extendDeadline()
		var f wire.Message
		if err := json.Unmarshal(message, &f); err != nil {
			return received, fmt.Errorf("decode a message: %w", err)
		}
		if err := w.message(WebSocket, &f); err != nil {
			return received, err
		}
		received = true
	}
}

// ping sends pings until stop is called. It ignores errors: the reader notices a
// broken connection.
func (w *watcher) ping(conn *websocket.Conn) (stop func()) {
	done := make(chan struct{})
	var pinging sync.WaitGroup
	pinging.Go(func() {
		tick := time.NewTicker(w.confirm)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				_ = conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second))
			}
		}
	})
	return func() {
		close(done)
		pinging.Wait()
	}
}

func (w *watcher) dial(ctx context.Context) (*websocket.Conn, error) {
	req, err := w.prepare(ctx)
	if err != nil {
		return nil, err
	}
	u := *req.URL
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
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	_ = res.Body.Close()
	e := responseError(res, body, w.c.now())
	e.Op, e.Attempts = "connect by WebSocket", 1
	return nil, e
}

// closeError translates a close code to the API's error.
func closeError(err error) error {
	var closed *websocket.CloseError
	if !errors.As(err, &closed) {
		return fmt.Errorf("read the stream: %w", err)
	}
	e := &Error{Op: "read the stream", Message: closed.Text, Attempts: 1, Err: err}
	switch closed.Code {
	case wire.CloseToken:
		e.Status, e.Code = http.StatusUnauthorized, wire.CodeUnauthorized
	case wire.CloseForbidden:
		e.Status, e.Code = http.StatusForbidden, wire.CodeForbidden
	case wire.CloseLimit:
		e.Status, e.Code = http.StatusTooManyRequests, wire.CodeRateLimited
	default:
		return fmt.Errorf("read the stream: %w", err)
	}
	return e
}
