package realtime_test

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/realtime/sse"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// listener is an EventSource.
type listener struct {
	t      *testing.T
	res    *http.Response
	events chan event
}

type event struct {
	name, id, data, retry, comment string
}

func (r *rig) listen(query string) *listener {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.http.URL+"/?"+query, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := r.http.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	l := &listener{t: r.t, res: res, events: make(chan event, 1000)}
	done := make(chan struct{})
	r.t.Cleanup(func() {
		_ = res.Body.Close()
		<-done
	})
	go func() {
		defer close(done)
		defer close(l.events)
		l.parse(res.Body)
	}()
	return l
}

func (l *listener) parse(body io.Reader) {
	var e event
	for lines := bufio.NewScanner(body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "retry":
			e.retry = value
		case "":
			if lines.Text() != "" {
				e.comment = value
				continue
			}
			l.events <- e
			e = event{}
		}
	}
}

// next is the next event that is no comment, and its frame.
func (l *listener) next() (event, wire.Message) {
	l.t.Helper()
	for {
		select {
		case e, ok := <-l.events:
			if !ok {
				l.t.Fatal("the stream ended, want an event")
			}
			if e.name == "" {
				continue
			}
			f := decode(l.t, []byte(e.data))
			if f.Type != e.name {
				l.t.Errorf("event %s holds a %s", e.name, f.Type)
			}
			return e, f
		case <-time.After(timeout):
			l.t.Fatal("no event")
		}
	}
}

func (l *listener) quiet(d time.Duration) {
	l.t.Helper()
	for end := time.After(d); ; {
		select {
		case e, ok := <-l.events:
			if e.name != "" || !ok {
				l.t.Errorf("got %+v, want nothing but comments", e)
			}
		case <-end:
			return
		}
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	boards.set("global", of{"alice": 5})
	r := start(t, realtime.Options{}, boards)
	l := r.listen("user=alice")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
	} {
		if got := l.res.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if e, f := l.next(); e.id != "10:2" || f.Type != wire.MessageUpdated || len(f.Top) != 1 {
		t.Errorf("got %+v, want a snapshot with id 10:2", e)
	}
	r.hub.Notify(boards.set("global", of{"alice": 6}))
	if e, f := l.next(); e.id != "10:3" || f.Top[0].Score != 6 {
		t.Errorf("got %+v, want id 10:3", e)
	}
	// The user's frame has the board's id, because a client resumes from that.
	if e, f := l.next(); e.id != "10:3" || f.Type != wire.MessageRank {
		t.Errorf("got %+v, want the rank under id 10:3", e)
	}
}

func TestEventsResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		boards.set("global", of{"alice": 5})
		r := startInMemory(t, realtime.Options{CheckEvery: 100 * time.Millisecond}, boards)
		same, other := r.listen("epoch=10&version=2"), r.listen("epoch=10&version=1")
		if e, _ := other.next(); e.id != "10:2" {
			t.Errorf("other: got %+v, want a snapshot", e)
		}
		same.quiet(300 * time.Millisecond)
		r.hub.Notify(boards.set("global", of{"alice": 6}))
		if e, _ := same.next(); e.id != "10:3" {
			t.Errorf("same: got %+v, want 10:3", e)
		}
		boards.edit(func() { boards.reason = "ranking_unavailable" })
		if e, f := same.next(); e.id != "0:0" || !f.Degraded || f.Version != 3 {
			t.Errorf("degraded: got %+v, want an id that cannot be resumed from", e)
		}
	})
}

func TestEventsDelta(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	boards.set("global", of{"alice": 5, "bob": 3})
	r := start(t, realtime.Options{}, boards)
	l := r.listen("delta=1")
	l.next()
	r.hub.Notify(boards.set("global", of{"carol": 1}))
	e, f := l.next()
	if f.Type != wire.MessageDelta || f.Base != 2 || f.Version != 3 || len(f.Changed) != 1 ||
		f.Changed[0].UserID != "carol" {
		t.Errorf("got %+v, want only carol", f)
	}
	if !strings.Contains(e.data, `"removed":[]`) {
		t.Errorf("got %s, want an empty list of removed", e.data)
	}
}

func TestEventsHeartbeat(t *testing.T) {
	t.Parallel()
	r := start(t, realtime.Options{Ping: 100 * time.Millisecond}, newRanking("global"))
	l := r.listen("")
	l.next()
	for range 3 {
		if e := <-l.events; e.comment == "" {
			t.Errorf("got %+v, want a comment", e)
		}
	}
}

func TestEventsEnd(t *testing.T) {
	t.Parallel()
	r := start(t, realtime.Options{}, newRanking("global"))
	short, long := r.listen("expires=300"), r.listen("")
	short.next()
	long.next()
	e, f := short.next()
	if f.Type != wire.MessageBye || f.Reason != "token expired" || e.retry == "" {
		t.Errorf("got %+v, want a bye with a retry", e)
	}
	if e, ok := <-short.events; ok {
		t.Errorf("after the bye: got %+v, want the end", e)
	}
	r.stop()
	if e, ok := <-long.events; ok {
		t.Errorf("got %+v, want the end", e)
	}
}

func TestEventsRefused(t *testing.T) {
	t.Parallel()
	r := start(t, realtime.Options{ConnectionsPerUser: 1}, newRanking("global", "secret"))
	first := r.listen("user=a")
	first.next()
	for query, want := range map[string]int{"user=a": 429, "board=nosuch": 404, "board=secret": 403} {
		if got := r.listen(query).res.StatusCode; got != want {
			t.Errorf("%s: got %d, want %d", query, got, want)
		}
	}
	if f := r.dial("user=a").expect(wire.MessageError); f.Message != "1 of 1 streams of this user are in use" {
		t.Errorf("message: got %q, want how many streams are in use", f.Message)
	}
	if n := gauge(t, r.hub, "connections"); n != 1 {
		t.Errorf("connections: got %v, want only the first", n)
	}
	if err := r.hub.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if got := r.listen("").res.StatusCode; got != 503 {
		t.Errorf("draining: got %d, want 503", got)
	}
}

func TestEventsSlowConsumer(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	for i := range 100 {
		boards.set("global", of{longUser(i): scoreboard.Score(i)})
	}
	r := start(t, realtime.Options{
		Window: time.Millisecond, MessagesPerMinute: 1000 * 60, SlowAfter: 200 * time.Millisecond,
	}, boards)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.http.URL+"/?limit=100", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := r.http.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	i := 0
	await(t, "the client that never reads to be closed", func() bool {
		i++
		r.hub.Notify(boards.set("global", of{longUser(i % 100): scoreboard.Score(1000 + i)}))
		return gauge(t, r.hub, "connections") == 0
	})
}

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		boards.set("global", of{"alice": 5})
		r := startInMemory(t, realtime.Options{}, boards)
		get := func(query string) (int, time.Duration) {
			begin := time.Now()
			return r.get("/wait?wait=400&" + query), time.Since(begin)
		}
		if code, took := get("epoch=10&version=1"); code != 200 || took > 200*time.Millisecond {
			t.Errorf("older: got %d after %s, want 200 at once", code, took)
		}
		if code, took := get("epoch=10&version=2"); code != 304 || took < 400*time.Millisecond {
			t.Errorf("current: got %d after %s, want 304 after the wait", code, took)
		}
		time.AfterFunc(100*time.Millisecond, func() { r.hub.Notify(boards.set("global", of{"alice": 6})) })
		if code, took := get("epoch=10&version=2"); code != 200 || took < 100*time.Millisecond ||
			took > 300*time.Millisecond {
			t.Errorf("changed: got %d after %s, want 200 on the change", code, took)
		}
		if code, _ := get("board=nosuch"); code != 404 {
			t.Errorf("unknown: got %d, want 404", code)
		}
		var refused *scoreboard.Error
		if err := r.hub.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		err := r.hub.Wait(t.Context(), &realtime.Viewer{Board: "global"})
		if !errors.As(err, &refused) || refused.Code != wire.CodeUnavailable {
			t.Errorf("draining: got %v, want unavailable", err)
		}
	})
}

// An event stream's error is not stored by a cache, like any other error.
func TestRefusedEventsAreNotStored(t *testing.T) {
	t.Parallel()
	hub := realtime.NewHub(realtime.Options{Off: true}, nil, nil, slog.New(slog.DiscardHandler))
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	err := sse.NewServer(hub).Serve(w, r, &realtime.Viewer{})
	if err == nil || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Content-Type") != "" {
		t.Errorf("got %v with %v, want an error and no-store", err, w.Header())
	}
}
