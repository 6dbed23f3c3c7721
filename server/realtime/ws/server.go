package ws

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// refuseTimeout bounds a handshake, and the exchange with a refused client.
const refuseTimeout = 2 * time.Second

// Server upgrades requests to connections of a hub.
type Server struct {
	hub      *realtime.Hub
	upgrader *websocket.Upgrader
}

// NewServer returns a server for h.
func NewServer(h *realtime.Hub) *Server { return &Server{h, newUpgrader()} }

// newUpgrader returns an upgrader with small buffers, because its connections are
// not used. The caller checks the Origin. Frames are small and shared by
// connections, so they are not compressed.
func newUpgrader() *websocket.Upgrader {
	return &websocket.Upgrader{
		ReadBufferSize:   1,
		WriteBufferPool:  &sync.Pool{},
		HandshakeTimeout: refuseTimeout,
		CheckOrigin:      func(*http.Request) bool { return true },
		Error:            func(http.ResponseWriter, *http.Request, int, error) {},
	}
}

// Accepts reports whether r is a WebSocket handshake.
func (s *Server) Accepts(r *http.Request) bool { return websocket.IsWebSocketUpgrade(r) }

// Serve upgrades r and subscribes v. It returns once the connection is open. An
// error, always a scoreboard.Error, means that nothing was written, so that
// Refuse can report it; later failures close the connection with a code.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, v *realtime.Viewer) error {
	c := newConn(s.hub, v)
	if err := c.Admit(r.Context()); err != nil {
		return err
	}
	ws, err := s.upgrader.Upgrade(w, r, nil)
	if err != nil {
		c.Leave()
		return errHandshake(err)
	}
	if !c.Open(ws.NetConn()) {
		return nil
	}
	if err := c.Subscribe(s.hub.Context(), v); err != nil {
		c.ReplyError(err, v.Board)
		c.Finish(closeCode(err), string(wire.CodeOf(err)), nil)
	}
	go c.Read()
	return nil
}

// Refuse upgrades r, sends the error as a format writes it (nil is the native one) and
// closes with its code, because browsers see the code of a close and not the status of
// a failed handshake. An error means that nothing was written.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, f *realtime.Format, refused error) error {
	ws, err := s.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return errHandshake(err)
	}
	c := ws.NetConn()
	defer func() { _ = c.Close() }() // the client has its close frame
	if c.SetDeadline(time.Now().Add(refuseTimeout)) != nil {
		return nil
	}
	var message []byte
	if f = cmp.Or(f, realtime.Native); f.Error != nil {
		message = slices.Clone(encode(f.Error(refused, "")))
	}
	message = append(message, closeFrame(closeCode(refused), string(wire.CodeOf(refused)))...)
	if _, err := c.Write(message); err == nil {
		linger(c)
	}
	return nil
}

func errHandshake(err error) error {
	return &scoreboard.Error{Code: wire.CodeInvalidRequest, Message: "not a WebSocket handshake", Err: err}
}

// closeCode returns the close code of an error.
func closeCode(err error) int {
	switch wire.CodeOf(err) {
	case wire.CodeUnauthorized, wire.CodeTokenUsed:
		return wire.CloseToken
	case wire.CodeForbidden, wire.CodeNotFound, wire.CodeInvalidRequest:
		return wire.CloseForbidden
	case wire.CodeRateLimited:
		return wire.CloseLimit
	default: // may be retried
		return wire.CloseRestart
	}
}
