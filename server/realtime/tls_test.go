package realtime_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Under TLS every write blocks, so each has a goroutine while it lasts.
func TestWebSocketUnderTLS(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	o := realtime.Options{Window: time.Millisecond, MessagesPerMinute: 1000 * 60, ConnectionsPerUser: 2}
	r := startOn(t, o, boards, (*httptest.Server).StartTLS)
	w, closing := r.dial("user=alice"), r.dial("user=alice")
	w.frame()
	if code, _ := r.dial("user=alice").closed(); code != wire.CloseLimit {
		t.Errorf("one too many: closed with %d, want 4429", code)
	}
	closing.frame()
	_ = closing.ws.Close()
	for i := range 50 {
		score := scoreboard.Score(i + 1)
		r.hub.Notify(boards.set("global", of{"alice": score}))
		for f := w.frame(); f.Type != wire.MessageRank || *f.Score != int64(score); f = w.frame() {
		}
	}
	if err := w.ws.WriteMessage(websocket.BinaryMessage, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if code, _ := w.closed(); code != websocket.CloseUnsupportedData {
		t.Errorf("closed with %d, want 1003", code)
	}
	await(t, "all connections to be closed", func() bool { return gauge(t, r.hub, "connections") == 0 })
}

func TestEventsUnderTLS(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*httptest.Server){
		"HTTP/1.1": (*httptest.Server).StartTLS,
		"HTTP/2.0": func(s *httptest.Server) {
			s.EnableHTTP2 = true
			s.StartTLS()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			boards := newRanking("global")
			boards.set("global", of{"alice": 1})
			r := startOn(t, realtime.Options{Ping: 200 * time.Millisecond, ConnectionsPerUser: 1}, boards, begin)
			l := r.listen("user=alice&expires=1500")
			if l.res.Proto != name || l.res.Header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("got %s, %v", l.res.Proto, l.res.Header)
			}
			if e, _ := l.next(); e.id != "10:2" {
				t.Errorf("got %+v, want the snapshot", e)
			}
			r.hub.Notify(boards.set("global", of{"alice": 2}))
			if e, _ := l.next(); e.id != "10:3" {
				t.Errorf("got %+v, want 10:3", e)
			}
			if e, f := l.next(); e.id != "10:3" || f.Type != wire.MessageRank {
				t.Errorf("got %+v, want the rank", e)
			}
			if res := r.listen("user=alice").res; res.StatusCode != 429 ||
				strings.Contains(res.Header.Get("Content-Type"), "event") {
				t.Errorf("one too many: got %s, %v, want a plain 429", res.Status, res.Header)
			}
			if e := <-l.events; e.comment == "" {
				t.Errorf("got %+v, want a comment", e)
			}
			if e, f := l.next(); f.Type != wire.MessageBye || e.retry == "" || e.id != "10:3" {
				t.Errorf("got %+v, want a bye", e)
			}
			if e, ok := <-l.events; ok {
				t.Errorf("got %+v, want the end", e)
			}
			await(t, "the connection to be closed", func() bool { return gauge(t, r.hub, "connections") == 0 })
		})
	}
}

// Over HTTP/2 a deadline that has passed ends a stream even if nothing is being
// written.
func TestIdleHTTP2StreamOutlivesWriteDeadline(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	boards.set("global", of{"alice": 1})
	r := startOn(
		t,
		realtime.Options{Ping: 1500 * time.Millisecond, SlowAfter: 300 * time.Millisecond},
		boards,
		func(s *httptest.Server) {
			s.EnableHTTP2 = true
			s.StartTLS()
		},
	)
	l := r.listen("user=bob")
	l.next()
	if e := <-l.events; e.comment == "" {
		t.Errorf("got %+v, want a comment", e)
	}
}

func TestEventsClientGoes(t *testing.T) {
	t.Parallel()
	r := start(t, realtime.Options{}, newRanking("global"))
	l := r.listen("")
	l.next()
	_ = l.res.Body.Close()
	await(t, "the connection to be closed", func() bool { return gauge(t, r.hub, "connections") == 0 })
}
