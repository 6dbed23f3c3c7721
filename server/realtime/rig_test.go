package realtime_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/http/dialect"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/realtime/sse"
	"github.com/scoreboard/scoreboard/server/realtime/ws"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// formats by their names; "" is the native one.
var formats = map[string]*realtime.Format{
	"highscore": dialect.HighscoreStream, "delta": dialect.DeltaStream, "plain": dialect.PlainStream,
	"timed": {Reached: true, State: dialect.PlainStream.State}, // like plain, without its pace
}

// timeout is how long a test waits for a condition.
const timeout = 10 * time.Second

// rig is a hub behind an HTTP server; the query of a request is its viewer.
type rig struct {
	t    *testing.T
	hub  *realtime.Hub
	ws   *ws.Server
	sse  *sse.Server
	http *httptest.Server
	stop func()
}

func start(t *testing.T, o realtime.Options, source realtime.Source) *rig {
	t.Helper()
	return startOn(t, o, source, (*httptest.Server).Start)
}

// startInMemory is start without a network, for a test on a clock of its own.
func startInMemory(t *testing.T, o realtime.Options, source realtime.Source) *rig {
	t.Helper()
	return startOn(t, o, source, func(s *httptest.Server) {
		_ = s.Listener.Close()
		listener := fixtures.ListenInMemory()
		s.Listener = listener
		s.Start()
		s.Client().Transport.(*http.Transport).DialContext = listener.Dial
	})
}

// startOn is start with a server started by begin.
func startOn(t *testing.T, o realtime.Options, source realtime.Source, begin func(*httptest.Server)) *rig {
	t.Helper()
	hub := realtime.NewHub(o, source, nil, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- hub.Run(ctx) }()
	r := &rig{t: t, hub: hub, ws: ws.NewServer(hub), sse: sse.NewServer(hub)}
	r.http = httptest.NewUnstartedServer(http.HandlerFunc(r.serve))
	begin(r.http)
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		r.http.Close()
	})
	t.Cleanup(r.stop)
	return r
}

func (r *rig) serve(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(q.Get(name), 10, 64)
		return n
	}
	v := realtime.Viewer{
		User: scoreboard.UserID(q.Get("user")), Address: q.Get("address"),
		Board: scoreboard.BoardID(cmp.Or(q.Get("board"), "global")), Limit: int(number("limit")),
		Delta: q.Get("delta") == "1", Friends: q.Get("friends") == "1", Cohort: q.Get("cohort") == "1",
		Format:    formats[q.Get("format")],
		LastEpoch: number("epoch"), LastVersion: number("version"),
	}
	if ms := number("expires"); ms > 0 {
		v.Expires = time.Now().Add(time.Duration(ms) * time.Millisecond)
	}
	v.CanSee = func(_ context.Context, b scoreboard.BoardID) error {
		if b == "secret" {
			return scoreboard.Errorf(wire.CodeForbidden, "private board")
		}
		return nil
	}
	var err error
	switch {
	case req.URL.Path == "/wait":
		ctx, cancel := context.WithTimeout(req.Context(), time.Duration(number("wait"))*time.Millisecond)
		defer cancel()
		if err = r.hub.Wait(ctx, &v); errors.Is(err, context.DeadlineExceeded) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	case req.Header.Get("Accept") == "text/event-stream":
		err = r.sse.Serve(w, req, &v)
	default:
		if err = r.ws.Serve(w, req, &v); err != nil {
			err = r.ws.Refuse(w, req, v.Format, err)
		}
	}
	status := map[wire.Code]int{
		"": 0, wire.CodeRateLimited: 429, wire.CodeNotFound: 404, wire.CodeForbidden: 403,
		wire.CodeUnavailable: 503, wire.CodeInvalidRequest: 400,
	}
	if s, ok := status[wire.CodeOf(err)]; !ok {
		r.t.Errorf("refusal without a code: %v", err)
	} else if s != 0 {
		http.Error(w, err.Error(), s)
	}
}

// watcher is a WebSocket client.
type watcher struct {
	t  *testing.T
	ws *websocket.Conn
}

// tls is the client configuration of a WebSocket to a TLS server, else nil.
func (r *rig) tls() *tls.Config {
	t, ok := r.http.Client().Transport.(*http.Transport)
	if !ok || t.TLSClientConfig == nil {
		return nil
	}
	c := t.TLSClientConfig.Clone()
	c.NextProtos = []string{"http/1.1"}
	return c
}

func (r *rig) dial(query string) *watcher {
	r.t.Helper()
	d := websocket.Dialer{TLSClientConfig: r.tls()}
	if l, ok := r.http.Listener.(*fixtures.MemoryListener); ok {
		d.NetDialContext = l.Dial
	}
	//nolint:bodyclose // a handshake leaves nothing to close
	ws, _, err := d.Dial("ws"+r.http.URL[len("http"):]+"/?"+query, nil)
	if err != nil {
		r.t.Fatalf("dial: %v", err)
	}
	r.t.Cleanup(func() { _ = ws.Close() })
	return &watcher{r.t, ws}
}

func (w *watcher) read() ([]byte, error) {
	_ = w.ws.SetReadDeadline(time.Now().Add(timeout))
	_, data, err := w.ws.ReadMessage()
	return data, err
}

// frame reads the next frame.
func (w *watcher) frame() wire.Message {
	w.t.Helper()
	data, err := w.read()
	if err != nil {
		w.t.Fatalf("read a frame: %v", err)
	}
	return decode(w.t, data)
}

// get is the status of a plain request.
func (r *rig) get(path string) int {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.http.URL+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := r.http.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func decode(t *testing.T, data []byte) wire.Message {
	t.Helper()
	var f wire.Message
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatalf("frame %s: %v", data, err)
	}
	return f
}

// expect reads the next frame, which must be of that type.
func (w *watcher) expect(kind string) wire.Message {
	w.t.Helper()
	f := w.frame()
	if f.Type != kind {
		w.t.Fatalf("frame: got %+v, want type %s", f, kind)
	}
	return f
}

// quiet fails if a frame or a close arrives within d. It ends the connection.
func (w *watcher) quiet(d time.Duration) {
	w.t.Helper()
	_ = w.ws.SetReadDeadline(time.Now().Add(d))
	_, data, err := w.ws.ReadMessage()
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		w.t.Fatalf("got frame %s, %v, want nothing", data, err)
	}
}

// closed reads up to the close and returns its code and reason.
func (w *watcher) closed() (int, string) {
	w.t.Helper()
	for {
		if _, err := w.read(); err != nil {
			var c *websocket.CloseError
			if !errors.As(err, &c) {
				w.t.Fatalf("closed without a code: %v", err)
			}
			return c.Code, c.Text
		}
	}
}

func (w *watcher) send(text string) {
	w.t.Helper()
	if err := w.ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		w.t.Fatalf("send %s: %v", text, err)
	}
}

// await waits until ok holds.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(timeout); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s within %s", what, timeout)
		}
	}
}

func query(pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return q.Encode()
}
