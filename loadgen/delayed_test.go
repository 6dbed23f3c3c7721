package loadgen

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// kindOf is the kind of stream that a request opens.
func kindOf(r *http.Request) string {
	if websocket.IsWebSocketUpgrade(r) {
		return "ws"
	}
	return "sse"
}

// delayed relays the frames of a stream with a delay.
func (l *faulty) delayed(w http.ResponseWriter, r *http.Request) {
	if kindOf(r) == "ws" {
		l.overWebSocket(w, r)
	} else {
		l.overSSE(w, r)
	}
}

func (l *faulty) overWebSocket(w http.ResponseWriter, r *http.Request) {
	header := http.Header{"Authorization": r.Header["Authorization"]}
	url := "ws" + strings.TrimPrefix(l.backend.URL, "http") + r.URL.RequestURI()
	back, res, err := websocket.DefaultDialer.DialContext(r.Context(), url, header)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	defer back.Close()
	front, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer front.Close()
	go func() {
		for { // the client sends nothing but a close frame
			if _, _, err := front.ReadMessage(); err != nil {
				_ = back.Close()
				return
			}
		}
	}()
	l.relay(func() ([]byte, error) {
		_, message, err := back.ReadMessage()
		return message, err
	}, func(message []byte) error {
		return front.WriteMessage(websocket.TextMessage, message)
	}, func() { _ = back.Close() })
}

func (l *faulty) overSSE(w http.ResponseWriter, r *http.Request) {
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, l.backend.URL+r.URL.RequestURI(), http.NoBody)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	req.Header = r.Header.Clone()
	res, err := l.proxy.Transport.RoundTrip(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	lines := bufio.NewReader(res.Body)
	flush := http.NewResponseController(w)
	l.relay(func() (event []byte, err error) {
		for !bytes.HasSuffix(event, []byte("\n\n")) {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return nil, err
			}
			event = append(event, line...)
		}
		return event, nil
	}, func(event []byte) error {
		_, _ = w.Write(event)
		return flush.Flush()
	}, func() { _ = res.Body.Close() })
}

// relay copies messages from read to write until either fails. All but the first
// snapshot are delayed.
func (l *faulty) relay(read func() ([]byte, error), write func([]byte) error, stop func()) {
	type late struct {
		at      time.Time
		message []byte
	}
	messages := make(chan late, 10_000)
	l.later.Go(func() {
		defer close(messages)
		for {
			message, err := read()
			if err != nil {
				return
			}
			messages <- late{time.Now().Add(l.stale), message}
		}
	})
	joined := false
	for m := range messages {
		if joined {
			time.Sleep(time.Until(m.at))
		}
		joined = joined || m.message[0] != ':' // a heartbeat has no scores
		if write(m.message) != nil {
			stop()
		}
	}
}
