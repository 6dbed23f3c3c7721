package realtime_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// dialSmall is dial with a small receive buffer.
func (r *rig) dialSmall(query string) *watcher {
	r.t.Helper()
	d := websocket.Dialer{NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(32 << 10)
		}
		return c, err
	}}
	d.TLSClientConfig = r.tls()
	//nolint:bodyclose // a handshake leaves nothing to close
	ws, _, err := d.Dial("ws"+r.http.URL[len("http"):]+"/?"+query, nil)
	if err != nil {
		r.t.Fatalf("dial: %v", err)
	}
	r.t.Cleanup(func() { _ = ws.Close() })
	return &watcher{r.t, ws}
}

// longUser returns a long user id, which makes frames large.
func longUser(i int) scoreboard.UserID {
	return scoreboard.UserID(strings.Repeat("x", 60) + string(user(i)))
}

func TestSlowConsumer(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	for i := range 100 {
		boards.set("global", of{longUser(i): scoreboard.Score(i)})
	}
	const slowAfter = 2 * time.Second
	r := start(t, realtime.Options{
		Window: 5 * time.Millisecond, MessagesPerMinute: 500 * 60, SlowAfter: slowAfter,
	}, boards)
	late := r.dialSmall("limit=100")
	r.dialSmall("limit=100") // never reads
	good := r.dial("limit=100")
	var writing, reading sync.WaitGroup
	stop, stopReading := make(chan struct{}), make(chan struct{})
	defer func() {
		close(stopReading)
		reading.Wait()
		close(stop)
		writing.Wait()
	}()
	writing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				r.hub.Notify(boards.set("global", of{longUser(i % 100): scoreboard.Score(1000 + i)}))
			}
		}
	})
	reading.Go(func() { // the client that reads is not affected
		last, at := int64(0), time.Now()
		for {
			f, ok := good.try()
			if !ok {
				return
			}
			if gap := time.Since(at); gap > slowAfter*3/4 { // a stalled one would hold it up for slowAfter
				t.Errorf("reading client: %s without a frame", gap)
			}
			if f.Version <= last {
				t.Errorf("reading client: version %d after %d", f.Version, last)
			}
			last, at = f.Version, time.Now()
			select {
			case <-stopReading:
				return
			default:
			}
		}
	})
	await(t, "two stalled connections", func() bool { return gauge(t, r.hub, "stalled_connections") == 2 })
	time.Sleep(slowAfter * 5 / 4)
	// Within the grace period the close still reaches a client that reads again.
	if code, reason := late.closed(); code != wire.CloseSlowConsumer || reason != "slow consumer" {
		t.Errorf("late: closed with %d %q, want 4408 slow consumer", code, reason)
	}
	await(t, "the client that never reads to be closed", func() bool { return gauge(t, r.hub, "connections") == 1 })
	await(t, "no stalled connection held", func() bool { return gauge(t, r.hub, "stalled_connections") == 0 })
}

// try is frame for goroutines other than the test's.
func (w *watcher) try() (f wire.Message, ok bool) {
	data, err := w.read()
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		w.t.Errorf("read a frame: %v", err)
	}
	return f, err == nil
}

// gauge is the sum of a metric of the hub.
// framesBy counts the frames that were sent over a transport.
func framesBy(t *testing.T, h *realtime.Hub, transport string) (sum float64) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(h.Collectors()...)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "scoreboard_realtime_messages_sent_total" && l.GetValue() == transport {
					sum += m.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}

func gauge(t *testing.T, h *realtime.Hub, name string) (sum float64) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(h.Collectors()...)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "scoreboard_realtime_"+name {
			for _, m := range f.GetMetric() {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetCounter().GetValue()
			}
			return sum
		}
	}
	return 0
}

func TestSlowReaderSkipsStates(t *testing.T) {
	t.Parallel()
	const slowAfter = 3 * time.Second
	boards := newRanking("global")
	for i := range 100 {
		boards.set("global", of{longUser(i): scoreboard.Score(i)})
	}
	r := start(t, realtime.Options{
		Window: 2 * time.Millisecond, MessagesPerMinute: 500 * 60, SlowAfter: slowAfter,
	}, boards)
	w := r.dialSmall("limit=100")
	states, stalled := 0, 0
	change := func() {
		states++
		r.hub.Notify(boards.set("global", of{longUser(states % 100): scoreboard.Score(1000 + states)}))
		time.Sleep(4 * time.Millisecond)
	}
	await(t, "a lasting stall", func() bool {
		change()
		if stalled++; gauge(t, r.hub, "stalled_connections") != 1 {
			stalled = 0
		}
		return stalled == 20
	})
	before := states
	for range 100 {
		change()
	}
	top, _ := boards.ReadTop(t.Context(), "global")
	frames := 0
	for {
		f := w.expect(wire.MessageUpdated)
		frames++
		if f.Version == top.Version {
			break
		}
	}
	if frames > before {
		t.Errorf("a client that did not read got %d of %d states, want at most %d", frames, states, before)
	}
	// Once it has caught up, its past stalls do not count.
	time.Sleep(slowAfter * 5 / 4)
	r.hub.Notify(boards.set("global", of{longUser(0): 5000}))
	w.expect(wire.MessageUpdated)
	r.hub.Notify(boards.set("global", of{longUser(0): 5001}))
	w.expect(wire.MessageUpdated)
}

// Writes wait behind a stalled frame; under TLS too, where every write blocks.
func TestPongsWaitBehindStalledFrame(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*httptest.Server){
		"plain": (*httptest.Server).Start, "TLS": (*httptest.Server).StartTLS,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pongsWaitBehindAStalledFrame(t, begin)
		})
	}
}

func pongsWaitBehindAStalledFrame(t *testing.T, begin func(*httptest.Server)) {
	boards := newRanking("global")
	for i := range 100 {
		boards.set("global", of{longUser(i): scoreboard.Score(i)})
	}
	r := startOn(
		t, realtime.Options{Window: time.Millisecond, MessagesPerMinute: 1000 * 60, SlowAfter: 3 * timeout}, boards,
		begin,
	)
	w := r.dialSmall("limit=100")
	i, since := 0, time.Now()
	await(t, "a lasting stall", func() bool {
		i++
		r.hub.Notify(boards.set("global", of{longUser(i % 100): scoreboard.Score(1000 + i)}))
		if gauge(t, r.hub, "stalled_connections") != 1 {
			since = time.Now()
		}
		return time.Since(since) > 300*time.Millisecond
	})
	pongs := 0
	w.ws.SetPongHandler(func(data string) error {
		if pongs++; data != "payload" {
			t.Errorf("pong: got %q, want the ping's payload", data)
		}
		return nil
	})
	for range 5 {
		if err := w.ws.WriteMessage(websocket.PingMessage, []byte("payload")); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(100 * time.Millisecond) // they are sent while nothing is read
	top, _ := boards.ReadTop(t.Context(), "global")
	for w.frame().Version != top.Version {
	}
	w.send("[")
	w.expect(wire.MessageError)
	if pongs != 5 {
		t.Errorf("pongs: got %d, want 5", pongs)
	}
}
