package realtime_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
)

func TestBadInput(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		bad    func(*testing.T, *watcher)
		code   int
		reason string
	}{
		{"1 MB frame", func(_ *testing.T, w *watcher) {
			w.send(strings.Repeat("x", 1<<20)) // read and ignored
		}, websocket.CloseMessageTooBig, "message too big"},
		{"binary frame", func(t *testing.T, w *watcher) {
			if err := w.ws.WriteMessage(websocket.BinaryMessage, []byte("hello")); err != nil {
				t.Fatal(err)
			}
		}, websocket.CloseUnsupportedData, "text messages only"},
		{
			"invalid UTF-8",
			func(_ *testing.T, w *watcher) { w.send("\xff\xfe") },
			websocket.CloseInvalidFramePayloadData,
			"invalid UTF-8",
		},
		{"10,000 subscribes", func(_ *testing.T, w *watcher) {
			for range 10_000 {
				if w.ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"subscribe","board":"nosuch"}`)) != nil {
					return
				}
			}
		}, wire.CloseLimit, "too many commands"},
		{"10,000 pings", func(_ *testing.T, w *watcher) {
			for range 10_000 {
				if w.ws.WriteMessage(websocket.PingMessage, nil) != nil {
					return
				}
			}
		}, wire.CloseLimit, "too many pings"},
		{"10,000 pongs", func(_ *testing.T, w *watcher) {
			for range 10_000 {
				if w.ws.WriteMessage(websocket.PongMessage, nil) != nil {
					return
				}
			}
		}, wire.CloseLimit, "too many pings"},
		{"a message that never ends", func(_ *testing.T, w *watcher) {
			first := byte(0x01)
			for range 1000 {
				if _, err := w.ws.NetConn().Write([]byte{first, 0x80, 0, 0, 0, 0}); err != nil {
					return
				}
				first = 0
			}
		}, websocket.CloseMessageTooBig, "message too big"},
		{"reserved bits", func(t *testing.T, w *watcher) {
			if _, err := w.ws.NetConn().Write([]byte{0xf1, 0x80, 0, 0, 0, 0}); err != nil {
				t.Fatal(err)
			}
		}, websocket.CloseProtocolError, "malformed frame"},
	}
	boards := newRanking("global")
	r := start(t, realtime.Options{}, boards)
	bystander := r.dial("")
	bystander.frame()
	for _, c := range cases {
		w := r.dial("")
		w.frame()
		c.bad(t, w)
		if code, reason := w.closed(); code != c.code || reason != c.reason {
			t.Errorf("%s: closed with %d %q, want %d %q", c.name, code, reason, c.code, c.reason)
		}
		// After a reset, some systems drop the close frame that was received
		// before it.
		if _, err := w.ws.NetConn().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("%s: the connection ended with %v, want EOF", c.name, err)
		}
	}
	r.hub.Notify(boards.set("global", of{"alice": 1}))
	bystander.expect(wire.MessageUpdated)
	await(t, "all other connections to be closed", func() bool { return gauge(t, r.hub, "connections") == 1 })
}

// Pings do not use up the limit on commands.
func TestPingsDoNotCountAsCommands(t *testing.T) {
	t.Parallel()
	boards := newRanking("global", "b1")
	r := start(t, realtime.Options{}, boards)
	w := r.dial("")
	w.frame()
	for range 15 {
		if err := w.ws.WriteMessage(websocket.PingMessage, nil); err != nil {
			t.Fatal(err)
		}
		w.send(`{"type":"unsubscribe","board":"b1"}`)
	}
	w.send(`{"type":"subscribe","board":"b1"}`)
	if f := w.expect(wire.MessageUpdated); f.Board != "b1" {
		t.Errorf("got %+v, want b1", f)
	}
}

func TestJoinRefused(t *testing.T) {
	t.Parallel()
	r := start(t, realtime.Options{}, newRanking("global", "secret"))
	for board, want := range map[string]string{"nosuch": "not_found", "secret": "forbidden"} {
		w := r.dial(query("board", board))
		if f := w.expect(wire.MessageError); f.ErrorCode != want {
			t.Errorf("%s: got %+v, want %s", board, f, want)
		}
		if code, reason := w.closed(); code != wire.CloseForbidden || reason != want {
			t.Errorf("%s: closed with %d %q, want 4403 %s", board, code, reason, want)
		}
	}
}

func TestClientCloses(t *testing.T) {
	t.Parallel()
	r := start(t, realtime.Options{}, newRanking("global"))
	w := r.dial("")
	w.frame()
	message := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "done")
	if err := w.ws.WriteControl(websocket.CloseMessage, message, time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	if code, _ := w.closed(); code != websocket.CloseNormalClosure {
		t.Errorf("code: got %d, want the client's own", code)
	}
	await(t, "the connection to be closed", func() bool { return gauge(t, r.hub, "connections") == 0 })
}

func TestRefusedClientMaySend(t *testing.T) {
	t.Parallel()
	r := start(t, realtime.Options{ConnectionsPerUser: 1}, newRanking("global"))
	r.dial("user=alice").frame()
	w := r.dial("user=alice")
	w.send(strings.Repeat("x", 1<<20)) // does not reset the connection, which could lose the code
	if code, _ := w.closed(); code != wire.CloseLimit {
		t.Errorf("code: got %d, want 4429", code)
	}
}

func TestNoHandshake(t *testing.T) {
	t.Parallel()
	r := start(t, realtime.Options{}, newRanking("global"))
	if status := r.get("/"); status != 400 {
		t.Errorf("status: got %d, want the caller's 400", status)
	}
}

func TestTokenExpires(t *testing.T) {
	t.Parallel()
	r := start(t, realtime.Options{}, newRanking("global"))
	w := r.dial("expires=300")
	w.frame()
	if f := w.expect(wire.MessageBye); f.Reason != "token expired" {
		t.Errorf("bye: got %+v, want token expired", f)
	}
	if code, _ := w.closed(); code != wire.CloseToken {
		t.Errorf("code: got %d, want 4401", code)
	}
}

func TestHalfOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		options := realtime.Options{Ping: 50 * time.Millisecond, PongWait: 300 * time.Millisecond}
		r := startInMemory(t, options, newRanking("global"))
		silent, alive := r.dial(""), r.dial("")
		silent.ws.SetPingHandler(func(string) error { return nil })
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if code, reason := silent.closed(); code != wire.CloseSlowConsumer || reason != "no pong" {
				t.Errorf("silent: closed with %d %q, want 4408 no pong", code, reason)
			}
		}()
		alive.frame()
		alive.quiet(time.Second) // it reads, so it answers pings
		<-ended
		again := r.dial("")
		again.frame()
	})
}
