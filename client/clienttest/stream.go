package clienttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Disconnect ends all streams, after a bye frame if one is given.
func (s *Server) Disconnect(bye *protocol.Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bye = bye
	close(s.gone)
	s.gone = make(chan struct{})
}

// Push sends a frame to all streams unchanged.
func (s *Server) Push(f protocol.Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		sub <- f
	}
}

// Streams returns the number of open streams.
func (s *Server) Streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.subs)
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	user, _, ok := caller(w, r)
	if !ok || !s.boardExists(w, r) {
		return
	}
	kind := "sse"
	if websocket.IsWebSocketUpgrade(r) {
		kind = "ws"
	}
	s.mu.Lock()
	hidden := s.hide[kind]
	s.mu.Unlock()
	switch {
	case hidden:
		refuse(w, 501, scoreboard.Errorf(scoreboard.CodeInternal, "this kind of stream is disabled"))
	case kind == "ws":
		s.overWebSocket(w, r, user)
	default:
		s.overSSE(w, r, user)
	}
}

func (s *Server) overWebSocket(w http.ResponseWriter, r *http.Request, user string) {
	var upgrader websocket.Upgrader
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	closed := make(chan struct{})
	go func() { // reads until the client disconnects
		defer close(closed)
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
		}
	}()
	s.follow(user, rows(r), closed, func(f *protocol.Frame) error {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		return conn.WriteJSON(f)
	})
	_ = conn.Close()
	<-closed
}

func (s *Server) overSSE(w http.ResponseWriter, r *http.Request, user string) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	s.follow(user, rows(r), r.Context().Done(), func(f *protocol.Frame) error {
		data, err := json.Marshal(f)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, ": heartbeat\n\nevent: %s\nid: %d:%d\ndata: %s\n\n", f.Type, f.Epoch, f.Version, data)
		return flush.Flush()
	})
}

// rows is the number of rows of a stream: 10, or 100 if requested.
func rows(r *http.Request) int {
	if r.URL.Query().Get("limit") == "100" {
		return 100
	}
	return 10
}

// follow sends the current state and every change of it or of the user's own score.
func (s *Server) follow(user string, rows int, closed <-chan struct{}, send func(*protocol.Frame) error) {
	wake, pushed := make(chan struct{}, 1), make(chan protocol.Frame, 128)
	s.mu.Lock()
	s.subs[wake] = pushed
	gone := s.gone
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.subs, wake)
		s.mu.Unlock()
	}()
	s.mu.Lock()
	frames, score := s.frames(user, rows, 0)
	s.mu.Unlock()
	for {
		for _, f := range frames {
			if send(f) != nil {
				return
			}
		}
		frames = nil
		select {
		case <-closed:
			return
		case <-gone:
			s.mu.Lock()
			bye := s.bye
			s.mu.Unlock()
			if bye != nil {
				_ = send(bye)
			}
			return
		case f := <-pushed:
			frames = []*protocol.Frame{&f}
		case <-wake:
			s.mu.Lock()
			frames, score = s.frames(user, rows, score)
			s.mu.Unlock()
		}
	}
}

func (s *Server) frames(user string, rows int, before int64) (frames []*protocol.Frame, score int64) {
	g := &s.game
	all := g.entries()
	now := time.Now().UTC()
	frames = append(frames, &protocol.Frame{
		Type: protocol.FrameUpdated, Board: string(g.board.ID), Version: g.version, Epoch: g.epoch, TS: now,
		Top: all[:min(rows, len(all))], Degraded: g.degraded != "", DegradedReason: g.degraded,
	})
	if p := g.users[user]; p != nil && p.score != before {
		rank, score := g.rank(user), p.score
		return append(frames, &protocol.Frame{
			Type: protocol.FrameRank, Board: string(g.board.ID), UserID: user, Score: &score, Rank: &rank,
			Version: p.version, Epoch: g.epoch, TS: now,
		}), score
	}
	return frames, before
}
