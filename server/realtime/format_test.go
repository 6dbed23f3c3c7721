package realtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// text reads the next frame, with the times of now replaced.
func (w *watcher) text() string {
	w.t.Helper()
	data, err := w.read()
	if err != nil {
		w.t.Fatalf("read a frame: %v", err)
	}
	return nowPattern.ReplaceAllString(string(data), `"$1":NOW`)
}

var nowPattern = regexp.MustCompile(`"(updated_at|asOf)":"[^"]+"`)

// raw is the next event that is no comment.
func (l *listener) raw() event {
	l.t.Helper()
	for {
		select {
		case e, ok := <-l.events:
			switch {
			case !ok:
				l.t.Fatal("the stream ended, want an event")
			case e.name != "":
				return e
			}
		case <-time.After(timeout):
			l.t.Fatal("no event")
		}
	}
}

func (w *watcher) expectText(want string) {
	w.t.Helper()
	if got := w.text(); got != want {
		w.t.Errorf("frame:\ngot  %s\nwant %s", got, want)
	}
}

// The viewers of all formats follow one board: each gets whole states in its own
// format, only when the rows changed, and nothing else.
func TestDialectFormats(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	boards.set("global", of{"alice": 5, "17": 9})
	r := start(t, realtime.Options{Window: time.Millisecond}, boards)
	native := r.dial("user=alice")
	highscore, delta := r.dial("user=alice&format=highscore&limit=10&delta=1"), r.dial("user=alice&format=delta")
	plain := r.listen("format=plain&limit=10")
	row := func(user string, score, rank int) string {
		return fmt.Sprintf(`{"userId":%s,"nickName":"%s","score":%d,"rank":%d,"updatedAt":"%s"}`,
			user, strings.Trim(user, `"`), score, rank, reachedAt(scoreboard.Score(score)).Format(time.RFC3339))
	}
	native.expect(wire.MessageUpdated)
	highscore.expectText(`{"type":"LEADERBOARD_UPDATE","data":{"entries":[` +
		`{"rank":1,"player_id":"17","username":"17","score":9},` +
		`{"rank":2,"player_id":"alice","username":"alice","score":5}],"updated_at":NOW}}`)
	delta.expectText(`{"type":"leaderboard_update","top":[{"rank":1,"userId":"17","username":"17","score":9},` +
		`{"rank":2,"userId":"alice","username":"alice","score":5}],"asOf":NOW}`)
	want := event{name: "leaderboard", id: "10:2", data: "[" + row("17", 9, 1) + "," + row(`"alice"`, 5, 2) + "]"}
	if got := plain.raw(); got != want {
		t.Errorf("event:\ngot  %+v\nwant %+v", got, want)
	}
	// Commands are ignored, and neither a degraded nor a rebuilt board is a change.
	highscore.send(`{"type":"subscribe","board":"nosuch"}`)
	delta.send(`not JSON`)
	boards.edit(func() { boards.reason = "redis_unavailable" })
	native.expect(wire.MessageUpdated)
	boards.edit(func() { boards.reason, boards.boards["global"].epoch = "", 50 })
	native.expect(wire.MessageUpdated)
	r.hub.Notify(boards.set("global", of{"alice": 12}))
	highscore.expectText(`{"type":"LEADERBOARD_UPDATE","data":{"entries":[` +
		`{"rank":1,"player_id":"alice","username":"alice","score":12},` +
		`{"rank":2,"player_id":"17","username":"17","score":9}],"updated_at":NOW}}`)
	highscore.expectText(`{"type":"SCORE_UPDATE","data":{"player_id":"alice","new_score":12,"new_rank":1,` +
		`"rank_change":"+1"}}`)
	delta.expectText(`{"type":"leaderboard_update","top":[{"rank":1,"userId":"alice","username":"alice","score":12},` +
		`{"rank":2,"userId":"17","username":"17","score":9}],"asOf":NOW}`)
	want = event{name: "leaderboard", id: "50:3", data: "[" + row(`"alice"`, 12, 1) + "," + row("17", 9, 2) + "]"}
	if got := plain.raw(); got != want {
		t.Errorf("event:\ngot  %+v\nwant %+v", got, want)
	}
	// A client that resumes gets the next change only.
	resumed := r.listen("format=plain&epoch=50&version=3")
	r.hub.Notify(boards.set("global", of{"17": 13}))
	if got := resumed.raw(); got.id != "50:4" {
		t.Errorf("event after resuming: got id %s, want 50:4", got.id)
	}
	if sent := gauge(t, r.hub, "messages_sent_total"); sent < 10 {
		t.Errorf("frames sent: counted %v, want at least 10", sent)
	}
	await(t, "frames to be counted, which happens after they are sent", func() bool {
		return framesBy(t, r.hub, "websocket") >= 6 && framesBy(t, r.hub, "sse") >= 3
	})
	if open := r.hub.Status().Connections; open["websocket"] != 3 || open["sse"] != 2 {
		t.Errorf("open connections: got %v, want 3 WebSockets and 2 event streams", open)
	}
	// The end has its code and no frame.
	_ = highscore.text() // the rows
	_ = highscore.text() // the rank
	go func() { _ = r.hub.Drain(t.Context()) }()
	var end *websocket.CloseError
	if data, err := highscore.read(); !asClose(err, &end) || end.Code != wire.CloseRestart {
		t.Errorf("got %s, %v at the end, want only close %d", data, err, wire.CloseRestart)
	}
}

func TestRefusalWithoutFrame(t *testing.T) {
	t.Parallel()
	r := start(t, realtime.Options{ConnectionsPerUser: 5}, newRanking("global"))
	for _, format := range []string{"delta", "delta", "plain"} {
		if format == "plain" {
			r.listen("user=alice&format=plain")
			continue
		}
		r.dial("user=alice&format=" + format).frame()
	}
	// The limit of delta is 3, in any format; the others may still join.
	await(t, "3 connections", func() bool { return r.hub.Status().Connections["sse"] == 1 })
	var end *websocket.CloseError
	if data, err := r.dial("user=alice&format=delta").read(); !asClose(err, &end) || end.Code != wire.CloseLimit {
		t.Errorf("got %s, %v, want only close %d", data, err, wire.CloseLimit)
	}
	for _, query := range []string{"user=bob&format=delta", "user=alice", "user=alice&format=highscore"} {
		if data, err := r.dial(query).read(); err != nil || len(data) == 0 {
			t.Errorf("%s: got %s, %v, want a frame", query, data, err)
		}
	}
	data, err := r.dial("format=delta&board=secret").read()
	if !asClose(err, &end) || end.Code != wire.CloseForbidden {
		t.Errorf("got %s, %v, want only close %d", data, err, wire.CloseForbidden)
	}
}

// A format's own limit does not raise a stricter setting.
func TestSettingLimitsEveryFormat(t *testing.T) {
	t.Parallel()
	r := start(t, realtime.Options{ConnectionsPerUser: 1}, newRanking("global"))
	for _, format := range []string{"delta", "highscore"} {
		r.dial("user=" + format + "&format=" + format).frame()
		var end *websocket.CloseError
		if data, err := r.dial("user=" + format + "&format=" + format).read(); !asClose(err, &end) ||
			end.Code != wire.CloseLimit {
			t.Errorf("%s, a second connection: got %s, %v, want only close %d", format, data, err, wire.CloseLimit)
		}
	}
}

func asClose(err error, to **websocket.CloseError) bool {
	c, ok := err.(*websocket.CloseError) //nolint:errorlint // ReadMessage returns it as it is
	*to = c
	return ok
}

// A format is encoded once for each state, however many viewers it has.
func TestFormatIsEncodedOncePerState(t *testing.T) {
	t.Parallel()
	var states, ranks atomic.Int64
	format := &realtime.Format{
		Name: "counted",
		State: func(v *realtime.StateView) *realtime.Message {
			states.Add(1)
			return realtime.NewMessage("state", v.Version)
		},
		Rank: func(v *realtime.RankView) *realtime.Message {
			ranks.Add(1)
			return realtime.NewMessage("rank", v.Rank)
		},
	}
	boards := newRanking("global")
	boards.set("global", of{"alice": 5, "bob": 3})
	r := start(t, realtime.Options{Window: time.Millisecond}, boards)
	conns := make([]*realtime.HandlerConn, 40)
	for i := range conns {
		v := &realtime.Viewer{User: "alice", Board: "global", Format: format, Limit: 10}
		conns[i] = realtime.NewHandlerConn(r.hub, "test", v)
		if err := conns[i].Start(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		defer conns[i].Close()
	}
	take := func(want ...string) {
		t.Helper()
		for _, c := range conns {
			for _, want := range want {
				var f *realtime.Message
				await(t, want, func() bool { f = c.Next(time.Now()); return f != nil })
				if string(f.JSON) != want {
					t.Fatalf("got %s, want %s", f.JSON, want)
				}
			}
		}
	}
	take("2")
	r.hub.Notify(boards.set("global", of{"alice": 1}))
	take("3", "2")
	if states.Load() != 2 || ranks.Load() != 1 {
		t.Errorf("encoded %d states and %d ranks for %d viewers, want 2 and 1", states.Load(), ranks.Load(), len(conns))
	}
}

// A format that needs times gets no state without them: a notice that does not tell
// them is followed by a read, and by no second frame for others.
func TestStateWaitsForItsTimes(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	boards.set("global", of{"alice": 5})
	r := start(t, realtime.Options{Window: time.Millisecond, CheckEvery: 400 * time.Millisecond}, boards)
	native, timed := r.dial(""), r.listen("format=timed")
	native.frame()
	timed.raw()
	boards.set("global", of{"bob": 6}) // lost, so the next one does not tell when bob reached the score
	n := boards.set("global", of{"alice": 7})
	r.hub.Notify(n)
	if f := native.frame(); len(f.Top) != 2 {
		t.Errorf("got %+v, want both users", f)
	}
	// The board is read though it is not silent.
	var busy sync.WaitGroup
	defer busy.Wait()
	quiet, end := context.WithCancel(t.Context())
	defer end()
	busy.Go(func() {
		for quiet.Err() == nil {
			r.hub.Notify(n)
			time.Sleep(10 * time.Millisecond)
		}
	})
	var rows []struct{ UpdatedAt time.Time }
	e := timed.raw()
	end()
	busy.Wait()
	if err := json.Unmarshal([]byte(e.data), &rows); err != nil || len(rows) != 2 {
		t.Fatalf("event %+v: %v", e, err)
	}
	for i, score := range []scoreboard.Score{7, 6} {
		if !rows[i].UpdatedAt.Equal(reachedAt(score)) {
			t.Errorf("row %d: reached at %s, want %s", i+1, rows[i].UpdatedAt, reachedAt(score))
		}
	}
	native.quiet(100 * time.Millisecond)
	// Now notices tell the times again.
	boards.edit(func() { boards.err = fmt.Errorf("no read is needed") })
	r.hub.Notify(boards.set("global", of{"carol": 8}))
	if got := timed.raw().data; !strings.Contains(got, reachedAt(8).Format(time.RFC3339)) {
		t.Errorf("got %s, want carol at the time of her score", got)
	}
}

func TestFramesOfAFormatArePaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const burst, interval, refill = 3, 40 * time.Millisecond, 150 * time.Millisecond
		format := &realtime.Format{
			Burst: burst, Interval: interval, Refill: refill,
			State: func(v *realtime.StateView) *realtime.Message { return realtime.NewMessage("state", v.Version) },
		}
		boards := newRanking("global")
		r := startInMemory(t, realtime.Options{Window: time.Millisecond}, boards)
		v := &realtime.Viewer{Board: "global", Format: format}
		c := realtime.NewHandlerConn(r.hub, "test", v)
		if err := c.Start(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var sent []time.Time
		for score := scoreboard.Score(1); len(sent) < 3*burst; score++ {
			r.hub.Notify(boards.set("global", of{"alice": score}))
			select {
			case <-c.Wakes():
			case <-time.After(timeout):
				t.Fatalf("not woken after %d frames", len(sent))
			}
			if now := time.Now(); c.Next(now) != nil {
				sent = append(sent, now)
			}
		}
		const tick = 2 * time.Millisecond // the hub counts milliseconds
		for i := range sent {
			if i > 0 && sent[i].Sub(sent[i-1]) < interval-tick {
				t.Errorf("frame %d came %s after the one before", i+1, sent[i].Sub(sent[i-1]))
			}
			for j := range sent[:i] {
				if n, span := i-j+1, sent[i].Sub(sent[j])+tick; n > burst+int(span/refill) {
					t.Errorf("%d frames in %s", n, span)
				}
			}
		}
		if all := sent[len(sent)-1].Sub(sent[0]); all > 3*time.Duration(len(sent))*refill {
			t.Errorf("%d frames took %s", len(sent), all)
		}
	})
}
