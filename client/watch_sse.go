package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

var errSilent = errors.New("no message from the server for too long")

// sse follows the stream over server-sent events until it ends.
func (w *watcher) sse(ctx context.Context) (received bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A dead connection sends nothing, so silence ends the stream.
	watchdog := time.AfterFunc(w.c.timeouts.maxSilence, func() { cancel(errSilent) })
	defer watchdog.Stop()
	body, err := w.openSSE(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = body.Close() }()
	var data []byte
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4<<10), maxMessage)
	for lines.Scan() {
		watchdog.Reset(w.c.timeouts.maxSilence)
		line := lines.Bytes()
		switch {
		case len(line) == 0: // ends an event
			if len(data) == 0 {
				continue
			}
			var f wire.Message
			if err := json.Unmarshal(data, &f); err != nil {
				return received, fmt.Errorf("decode a message: %w", err)
			}
			data = data[:0]
			if err := w.message(SSE, &f); err != nil {
				return received, err
			}
			received = true
		case line[0] == ':': // a heartbeat
			received = true
			w.heartbeat(SSE)
		default:
			// The message in data has all that event and id say.
			if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				if len(data)+len(rest) > maxMessage {
					return received, fmt.Errorf("read the stream: an event of over %d bytes", maxMessage)
				}
				data = append(data, bytes.TrimPrefix(rest, []byte(" "))...)
				data = append(data, '\n')
			}
		}
	}
	err = lines.Err()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err == nil {
		err = io.EOF
	}
	return received, fmt.Errorf("read the stream: %w", err)
}

func (w *watcher) openSSE(ctx context.Context) (io.ReadCloser, error) {
	req, err := w.prepare(ctx)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	stream := *w.c.http
	stream.Timeout = 0 // would cut the stream; the watchdog limits silence instead
	res, err := stream.Do(req)
	if err != nil {
		return nil, fmt.Errorf("connect by SSE: %w", err)
	}
	if res.StatusCode == http.StatusOK && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return res.Body, nil
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	_ = res.Body.Close()
	e := responseError(res, body, w.c.now())
	e.Op, e.Attempts = "connect by SSE", 1
	return nil, e
}
