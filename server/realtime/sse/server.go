package sse

import (
	"bytes"
	"net/http"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/realtime/internal/socket"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ContentType is the media type of an event stream.
const ContentType = "text/event-stream"

// Server answers requests with event streams of a hub.
type Server struct{ hub *realtime.Hub }

// NewServer returns a server for h.
func NewServer(h *realtime.Hub) *Server { return &Server{h} }

// Serve answers r with an event stream for v. An error, always a
// scoreboard.Error, means that nothing was written.
//
// Over HTTP/1.1 it returns when the stream is open, over HTTP/2 when it ends;
// there http.ResponseController must reach the stream through w, and no write
// deadline may be set on it.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, v *realtime.Viewer) error {
	head := w.Header()
	head.Set("Content-Type", ContentType)
	head.Set("Cache-Control", "no-store")
	head.Set("X-Accel-Buffering", "no")
	serve := s.serveHandler
	if r.ProtoMajor == 1 {
		serve = s.serveSocket
	}
	err := serve(w, r, v)
	if err != nil { // the response will be an error and not a stream
		for _, name := range []string{"Content-Type", "X-Accel-Buffering"} { // errors are not stored, either
			head.Del(name)
		}
	}
	return err
}

// serveSocket streams over the request's own connection.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request, v *realtime.Viewer) error {
	c := newConn(s.hub, v)
	if err := c.Admit(r.Context()); err != nil {
		return err
	}
	subscribe, err := c.Resolve(r.Context(), v) // while an error still has a status
	if err != nil {
		c.Leave()
		return err
	}
	raw, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		c.Leave()
		return &scoreboard.Error{
			Code: wire.CodeInternal, Message: "this connection does not support streaming", Err: err,
		}
	}
	if !c.Open(raw) {
		return nil
	}
	c.Hold()
	if c.Write(responseHead(w.Header())) == nil {
		_ = subscribe() // the first board is always within the limit
	}
	go c.Read()
	return nil
}

// responseHead returns the head of a response that ends with its connection.
func responseHead(h http.Header) []byte {
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	h.Set("Connection", "close")
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 200 OK\r\n")
	_ = h.Write(&b) // a buffer returns no error
	b.WriteString("\r\n")
	return b.Bytes()
}

// serveHandler streams from the handler's goroutine.
func (s *Server) serveHandler(w http.ResponseWriter, r *http.Request, v *realtime.Viewer) error {
	c := realtime.NewHandlerConn(s.hub, kind, v)
	if err := c.Start(r.Context(), v); err != nil {
		return err
	}
	defer c.Close()
	w.WriteHeader(http.StatusOK)
	out := writer{w, http.NewResponseController(w), s.hub.Options().SlowAfter}
	s.hub.CountClosed(s.stream(r, c, &out))
	return nil
}

// stream writes messages until the connection ends, and returns the reason.
func (s *Server) stream(r *http.Request, c *realtime.HandlerConn, out *writer) string {
	if out.write(nil) != nil { // sends the head: the first event may take long
		return "client"
	}
	for {
		select {
		case <-r.Context().Done():
			return "client"
		case <-c.Aborted():
			return "restart"
		case <-c.Wakes():
		}
		for f := c.Next(time.Now()); f != nil; f = c.Next(time.Now()) {
			if out.write(event(f, c.EventID())) != nil {
				return socket.SlowConsumer
			}
			s.hub.CountSent(f, realtime.SSE)
		}
		if e := c.Ending(); e != nil {
			if e.Bye != nil {
				_ = out.write(event(e.Bye, c.EventID())) // the stream ends either way
			}
			return e.Reason
		}
		if c.TakePing() && out.write(pingComment) != nil {
			return socket.SlowConsumer
		}
	}
}

// writer writes events, each with a deadline of its own.
type writer struct {
	w         http.ResponseWriter
	control   *http.ResponseController
	slowAfter time.Duration
}

func (w *writer) write(event []byte) error {
	if err := w.control.SetWriteDeadline(time.Now().Add(w.slowAfter)); err != nil {
		return err
	}
	if len(event) > 0 {
		if _, err := w.w.Write(event); err != nil {
			return err
		}
	}
	if err := w.control.Flush(); err != nil {
		return err
	}
	// Over HTTP/2 a deadline ends the stream when it passes, even where nothing is
	// being written, and pings are further apart than slowAfter.
	return w.control.SetWriteDeadline(time.Time{})
}
