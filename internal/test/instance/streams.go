package instance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Kinds of stream.
const (
	WebSocket   = "ws"
	EventStream = "sse"
)

// KindOf is the kind of stream that a request opens.
func KindOf(r Request) string {
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return WebSocket
	}
	return EventStream
}

// Hide disables or enables a kind of stream.
func (s *Server) Hide(kind string, hidden bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden[kind] = hidden
}

// Delay delays the frames of streams of a kind that open from now on, but not the
// first state of each.
func (s *Server) Delay(kind string, by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delays[kind] = by
}

// Streams returns the number of open streams.
func (s *Server) Streams() int { return len(s.openStreams()) }

func (s *Server) openStreams() []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.streams))
}

// Push sends a frame to all streams unchanged.
func (s *Server) Push(f wire.Message) {
	for _, open := range s.openStreams() {
		_ = open.write(open.encode(&f)) // fails only if the client has gone
	}
}

// Disconnect ends all streams, after a bye frame if one is given.
func (s *Server) Disconnect(bye *wire.Message) {
	if bye != nil {
		s.Push(*bye)
	}
	for _, open := range s.openStreams() {
		open.stop()
	}
}

// stream relays the messages of a node's stream to a client. A message is a frame,
// or over SSE an event or a comment.
type stream struct {
	encode func(f *wire.Message) []byte
	read   func() ([]byte, error)
	stop   context.CancelFunc // makes read and send fail
	done   <-chan struct{}    // closed by stop

	mu   sync.Mutex // guards send
	send func(message []byte) error
}

func (o *stream) write(message []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.send(message)
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request, kind string) {
	s.mu.Lock()
	hidden, delay := s.hidden[kind], s.delays[kind]
	s.mu.Unlock()
	s.streaming.Add(1)
	defer s.streaming.Done()
	switch {
	case hidden:
		refuse(w, http.StatusNotImplemented, wire.CodeInternal)
	case kind == WebSocket:
		s.relayWebSocket(w, r, delay)
	default:
		s.relayEvents(w, r, delay)
	}
}

// relay relays messages until either side ends, and returns why the node's did.
func (s *Server) relay(o *stream, delay time.Duration) (ended error) {
	s.mu.Lock()
	s.streams[o] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.streams, o)
		s.mu.Unlock()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.send = func([]byte) error { return errors.New("the stream has ended") }
	}()
	type message struct {
		due  time.Time
		data []byte
	}
	messages := make(chan message, 1024)
	go func() {
		defer close(messages)
		for {
			data, err := o.read()
			if err != nil {
				ended = err
				return
			}
			messages <- message{time.Now().Add(delay), data}
		}
	}()
	started := false
	for m := range messages {
		if started {
			select {
			case <-time.After(time.Until(m.due)):
			case <-o.done:
			}
		}
		started = started || m.data[0] != ':' // a comment is no state
		if o.write(m.data) != nil {
			o.stop()
		}
	}
	return ended
}

// handshake are the headers that a WebSocket client sets itself.
var handshake = []string{
	"Upgrade", "Connection", "Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Extensions",
}

func (s *Server) relayWebSocket(w http.ResponseWriter, r *http.Request, delay time.Duration) {
	header := r.Header.Clone()
	for _, name := range handshake {
		header.Del(name)
	}
	address := "ws" + strings.TrimPrefix(s.node.URL, "http") + r.URL.RequestURI()
	//nolint:bodyclose // respond closes it after a failure; after a handshake there is none
	back, res, err := websocket.DefaultDialer.DialContext(r.Context(), address, header)
	if err != nil {
		respond(w, res)
		return
	}
	defer func() { _ = back.Close() }()
	front, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	context.AfterFunc(ctx, func() {
		_ = front.Close()
		_ = back.Close()
	})
	passControl(front, back)
	passControl(back, front)
	var receiving sync.WaitGroup
	receiving.Go(func() {
		defer stop()
		for {
			_, message, err := front.ReadMessage()
			if err != nil {
				passClose(back, err)
				return
			}
			_ = back.WriteMessage(websocket.TextMessage, message)
		}
	})
	passClose(front, s.relay(&stream{
		encode: encode,
		read: func() ([]byte, error) {
			_, message, err := back.ReadMessage()
			return message, err
		},
		send: func(message []byte) error { return front.WriteMessage(websocket.TextMessage, message) },
		stop: stop, done: ctx.Done(),
	}, delay))
	stop()
	receiving.Wait()
}

// controlTimeout bounds the writing of a control frame.
const controlTimeout = time.Second

// passControl passes pings and pongs on. Closes are passed on behind all messages.
func passControl(from, to *websocket.Conn) {
	pass := func(kind int) func(string) error {
		return func(data string) error {
			_ = to.WriteControl(kind, []byte(data), time.Now().Add(controlTimeout))
			return nil
		}
	}
	from.SetPingHandler(pass(websocket.PingMessage))
	from.SetPongHandler(pass(websocket.PongMessage))
	from.SetCloseHandler(func(int, string) error { return nil })
}

func passClose(to *websocket.Conn, err error) {
	var closed *websocket.CloseError
	if errors.As(err, &closed) {
		message := websocket.FormatCloseMessage(closed.Code, closed.Text)
		_ = to.WriteControl(websocket.CloseMessage, message, time.Now().Add(controlTimeout))
	}
}

func (s *Server) relayEvents(w http.ResponseWriter, r *http.Request, delay time.Duration) {
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	req := r.Clone(ctx)
	req.URL.Scheme, req.URL.Host = "http", strings.TrimPrefix(s.node.URL, "http://")
	res, err := s.transport.RoundTrip(req)
	if err != nil || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		respond(w, res)
		return
	}
	defer func() { _ = res.Body.Close() }()
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	flush := http.NewResponseController(w)
	if flush.Flush() != nil {
		return
	}
	lines := bufio.NewReader(res.Body)
	_ = s.relay(&stream{
		encode: func(f *wire.Message) []byte {
			return fmt.Appendf(nil, "event: %s\nid: %d:%d\ndata: %s\n\n", f.Type, f.Epoch, f.Version, encode(f))
		},
		read: func() (event []byte, err error) {
			for !bytes.HasSuffix(event, []byte("\n\n")) {
				line, err := lines.ReadBytes('\n')
				if err != nil {
					return nil, err
				}
				event = append(event, line...)
			}
			return event, nil
		},
		send: func(event []byte) error {
			if _, err := w.Write(event); err != nil {
				return err
			}
			return flush.Flush()
		},
		stop: stop, done: ctx.Done(),
	}, delay)
}

// respond copies a response that is not a stream; nil if the node did not answer.
func respond(w http.ResponseWriter, res *http.Response) {
	if res == nil {
		http.Error(w, "the node does not answer", http.StatusBadGateway)
		return
	}
	defer func() { _ = res.Body.Close() }()
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body)
}

func encode(f *wire.Message) []byte {
	text, err := json.Marshal(f)
	if err != nil { // a frame has no values that JSON lacks
		panic(err)
	}
	return text
}
