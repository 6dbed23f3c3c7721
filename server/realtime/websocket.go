package realtime

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// upgrader shakes hands; its connection is let go, so its buffers are small. The
// caller checks the Origin. Frames are small and encoded once for all: there is
// no compression.
func upgrader() *websocket.Upgrader {
	return &websocket.Upgrader{
		ReadBufferSize:   1,
		WriteBufferPool:  &sync.Pool{},
		HandshakeTimeout: closeWait,
		CheckOrigin:      func(*http.Request) bool { return true },
		Error:            func(http.ResponseWriter, *http.Request, int, error) {},
	}
}

// ServeWebSocket upgrades r and shows v what j asks for until the connection
// ends; it returns when the connection is open. An error, always a
// scoreboard.Error, means that nothing was written: Refuse tells it. All other
// refusals are closes with a code.
func (h *Hub) ServeWebSocket(w http.ResponseWriter, r *http.Request, v Viewer, j Join) error {
	c := h.link(v, j)
	c.parser.limit = readLimit
	if err := h.admit(&c.conn); err != nil {
		return err
	}
	ws, err := h.upgrader.Upgrade(w, r, nil)
	if err != nil {
		h.leave(&c.conn)
		return badHandshake(err)
	}
	c.socket.init(ws.NetConn(), h, slowFrame, c.drained)
	if !c.open(time.Now()) || !h.begin() {
		c.gone()
		return nil
	}
	ctx, cancel := context.WithTimeout(h.life, readTimeout)
	defer cancel()
	if err := c.subscribe(ctx, j); err != nil {
		c.reply(refusal(err, j.Board))
		c.finish(closeCode(err), string(scoreboard.CodeOf(err)), nil)
	}
	// A fresh goroutine reads: the handler's stack and buffers are let go.
	go c.read()
	return nil
}

// Refuse upgrades r, says why and closes it with the code for err, which is how
// a browser learns of it. An error means that nothing was written.
func Refuse(w http.ResponseWriter, r *http.Request, refused error) error {
	ws, err := upgrader().Upgrade(w, r, nil)
	if err != nil {
		return badHandshake(err)
	}
	c := ws.NetConn()
	defer func() { _ = c.Close() }() // the client has been told
	if c.SetDeadline(time.Now().Add(closeWait)) != nil {
		return nil
	}
	said := append(slices.Clone(refusal(refused, "").message()), closeFrame(closeCode(refused), string(scoreboard.CodeOf(refused)))...)
	if _, err := c.Write(said); err == nil {
		linger(ws)
	}
	return nil
}

func badHandshake(err error) error {
	return &scoreboard.Error{
		Code: scoreboard.CodeInvalidRequest, Message: "not a WebSocket handshake", Err: err,
	}
}

// closeCode is the close code for a refusal.
func closeCode(err error) int {
	switch scoreboard.CodeOf(err) {
	case scoreboard.CodeUnauthorized, scoreboard.CodeTokenUsed:
		return protocol.CloseToken
	case scoreboard.CodeForbidden, scoreboard.CodeNotFound, scoreboard.CodeInvalidRequest:
		return protocol.CloseForbidden
	case scoreboard.CodeRateLimited:
		return protocol.CloseLimit
	default: // may come back later
		return closeRestart
	}
}

// refusal is the frame that answers a command.
func refusal(err error, board scoreboard.BoardID) *frame {
	f := errorFrame{Type: protocol.FrameError, ErrorCode: string(scoreboard.CodeOf(err)), Board: string(board)}
	var known *scoreboard.Error
	if errors.As(err, &known) {
		f.Message, f.Field = known.Message, known.Field
	} else {
		f.Message = "something broke"
	}
	return newFrame(protocol.FrameError, f)
}
