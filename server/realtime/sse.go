package realtime

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const contentEvents = "text/event-stream"

var pingEvent = []byte(": ping\n\n")

// ServeSSE shows v what j asks for as server-sent events. An error, always a
// scoreboard.Error, means that nothing was written.
//
// Over HTTP/1.1 the connection is taken out of net/http's hands, and it returns
// when that is done: a handler that stays holds 29 KB for an idle client, a link
// 7 KB. Over HTTP/2, where a connection is not one client's, it returns when the
// stream ends; the request's writer must then reach the stream by
// http.ResponseController, and no write deadline be set on it.
func (h *Hub) ServeSSE(w http.ResponseWriter, r *http.Request, v Viewer, j Join) error {
	head := w.Header()
	head.Set("Content-Type", contentEvents)
	head.Set("Cache-Control", "no-store")
	head.Set("X-Accel-Buffering", "no")
	if r.ProtoMajor == 1 {
		return h.serveEvents(w, r, v, j)
	}
	c := h.handled("sse", v, j)
	if err := c.begin(r.Context(), j); err != nil {
		return forget(head, err)
	}
	defer c.close()
	w.WriteHeader(http.StatusOK)
	out := eventWriter{w, http.NewResponseController(w), h.options.Load().SlowAfter}
	reason := c.stream(r.Context(), &out)
	h.metrics.closed.WithLabelValues(reason).Inc()
	return nil
}

// forget takes back the headers of a stream that will not be.
func forget(head http.Header, err error) error {
	for _, name := range []string{"Content-Type", "Cache-Control", "X-Accel-Buffering"} {
		head.Del(name)
	}
	return err
}

// serveEvents is ServeSSE over a connection of the client's own.
func (h *Hub) serveEvents(w http.ResponseWriter, r *http.Request, v Viewer, j Join) error {
	c := h.link(v, j)
	c.events, c.deaf = true, true
	if err := h.admit(&c.conn); err != nil {
		return forget(w.Header(), err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	b, err := c.look(ctx, j.Board) // while it can still be refused by status
	if err != nil {
		h.leave(&c.conn)
		return forget(w.Header(), err)
	}
	raw, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		h.leave(&c.conn)
		return forget(w.Header(), &scoreboard.Error{
			Code: scoreboard.CodeInternal, Message: "the connection cannot be streamed over", Err: err,
		})
	}
	c.socket.init(raw, h, nil, c.drained)
	if raw.SetDeadline(time.Time{}) != nil || !c.open(time.Now()) || !h.begin() {
		c.gone()
		return nil
	}
	if c.socket.write(streamHead(w.Header())) == nil {
		_ = c.watch(b, j) // the first board is never one too many
	}
	go c.read()
	return nil
}

// streamHead is the head of an answer that ends with its connection.
func streamHead(h http.Header) []byte {
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	h.Set("Connection", "close")
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 200 OK\r\n")
	_ = h.Write(&b) // a buffer takes everything
	b.WriteString("\r\n")
	return b.Bytes()
}
