package realtime_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

type of = map[scoreboard.UserID]scoreboard.Score

func TestSnapshotThenChanges(t *testing.T) {
	t.Parallel()
	boards := newRanking("global")
	boards.set("global", of{"alice": 5})
	r := start(t, realtime.Options{}, boards)
	w := r.dial("")
	f := w.expect(wire.MessageUpdated)
	if len(f.Top) != 1 || f.Top[0] != (wire.Entry{Rank: 1, UserID: "alice", Score: 5}) {
		t.Errorf("top: got %+v, want alice with 5", f.Top)
	}
	if f.Board != "global" || f.Version != 2 || f.Epoch != 10 || f.TS.IsZero() {
		t.Errorf("frame: got %+v, want board global, version 2, epoch 10 and a time", f)
	}
	r.hub.Notify(boards.set("global", of{"bob": 7}))
	f = w.expect(wire.MessageUpdated)
	if len(f.Top) != 2 || f.Top[0].UserID != "bob" || f.Version != 3 {
		t.Errorf("frame: got %+v, want bob first at version 3", f)
	}
}

func TestEmptyBoardIsAnEmptyList(t *testing.T) {
	t.Parallel()
	r := start(t, realtime.Options{}, newRanking("global"))
	data, err := r.dial("").read()
	if err != nil || !strings.Contains(string(data), `"top":[]`) {
		t.Errorf("got %s, %v, want \"top\":[]", data, err)
	}
}

func TestOnlySubscribedRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		boards.set("global", manyUsers(120))
		r := startInMemory(t, realtime.Options{}, boards)
		ten, hundred := r.dial(""), r.dial("limit=100")
		if n := len(ten.frame().Top); n != 10 {
			t.Errorf("rows: got %d, want 10", n)
		}
		if n := len(hundred.frame().Top); n != 100 {
			t.Errorf("rows: got %d, want 100", n)
		}
		r.hub.Notify(boards.set("global", of{user(50): 70_001}))
		if f := hundred.frame(); f.Version != 3 {
			t.Errorf("100 rows: got version %d, want 3", f.Version)
		}
		ten.quiet(400 * time.Millisecond)

		// A new client of ten rows still gets the newest version: it may have seen that
		// version on another node, and must not go back.
		if f := r.dial("").frame(); f.Version != 3 {
			t.Errorf("newcomer: got version %d, want 3", f.Version)
		}
	})
}

func TestWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		r := startInMemory(t, realtime.Options{Window: 200 * time.Millisecond}, boards)
		w := r.dial("")
		w.frame()
		time.Sleep(250 * time.Millisecond) // a pause, so that the next change is a single one
		begin := time.Now()
		score := scoreboard.Score(0)
		stop := time.After(time.Second)
		changes := time.NewTicker(5 * time.Millisecond)
		defer changes.Stop()
		go func() {
			for range 150 {
				<-changes.C
				score++
				r.hub.Notify(boards.set("global", of{"alice": score}))
			}
		}()
		w.frame()
		if first := time.Since(begin); first > 10*time.Millisecond {
			t.Errorf("first change after a pause came after %s, want at once", first)
		}
		var at []time.Time
		for last := int64(0); last < 150; {
			last = w.frame().Top[0].Score
			at = append(at, time.Now())
		}
		<-stop
		if len(at) > 5 {
			t.Errorf("150 changes in 750 ms came in %d further frames, want at most 5", len(at))
		}
		for i := 1; i < len(at); i++ {
			if gap := at[i].Sub(at[i-1]); gap < 200*time.Millisecond {
				t.Errorf("frames %s apart, want a window", gap)
			}
		}
	})
}

func TestMessagesPerMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global", "b1", "b2")
		r := startInMemory(t, realtime.Options{Window: 20 * time.Millisecond, MessagesPerMinute: 10 * 60}, boards)
		w := r.dial("")
		w.send(`{"type":"subscribe","board":"b1"}`)
		w.send(`{"type":"subscribe","board":"b2"}`)
		stop := make(chan struct{})
		var playing sync.WaitGroup
		playing.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
				for _, b := range []scoreboard.BoardID{"global", "b1", "b2"} {
					r.hub.Notify(boards.set(b, of{"alice": scoreboard.Score(i)}))
				}
			}
		})
		var at []time.Time
		seen := make(map[string]int)
		for range 35 {
			seen[w.frame().Board]++
			at = append(at, time.Now())
		}
		close(stop)
		playing.Wait()
		for i := 10; i < len(at); i++ {
			if gap := at[i].Sub(at[i-10]); gap < time.Second {
				t.Fatalf("11 frames within %s, want 10 a second", gap)
			}
		}
		if len(at) > 10 && at[34].Sub(at[0]) > 5*time.Second {
			t.Errorf("35 frames took %s, want 10 a second", at[34].Sub(at[0]))
		}
		for board, n := range seen {
			if n < 8 {
				t.Errorf("%s: %d of 35 frames, want an equal share for each board", board, n)
			}
		}
	})
}

func TestBoardsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global", "b1", "b2")
		r := startInMemory(t, realtime.Options{Window: 20 * time.Millisecond, MessagesPerMinute: 1 * 60}, boards)
		w := r.dial("")
		w.send(`{"type":"subscribe","board":"b1"}`)
		w.send(`{"type":"subscribe","board":"b2"}`)
		seen := make(map[string]int)
		for i := range 6 {
			seen[w.frame().Board]++
			for _, b := range []scoreboard.BoardID{"global", "b1", "b2"} {
				r.hub.Notify(boards.set(b, of{"alice": scoreboard.Score(i)}))
			}
		}
		if seen["global"] != 2 || seen["b1"] != 2 || seen["b2"] != 2 {
			t.Errorf("frames: got %v, want two of each", seen)
		}
	})
}

func TestDeltaNeedsItsBase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		boards.set("global", of{"alice": 1})
		r := startInMemory(t, realtime.Options{Window: 20 * time.Millisecond, MessagesPerMinute: 2 * 60}, boards)
		w := r.dial("delta=1")
		w.expect(wire.MessageUpdated)
		r.hub.Notify(boards.set("global", of{"bob": 2}))
		w.expect(wire.MessageDelta)
		for i := range 3 { // while the connection is at its cap
			time.Sleep(50 * time.Millisecond)
			r.hub.Notify(boards.set("global", of{user(i): 3}))
		}
		if f := w.expect(wire.MessageUpdated); len(f.Top) != 5 || f.Version != 6 {
			t.Errorf("after skipped states: got %+v, want a snapshot", f)
		}
		r.hub.Notify(boards.set("global", of{"bob": 20}))
		if f := w.expect(wire.MessageDelta); f.Base != 6 || len(f.Removed) != 0 || f.Changed[0].UserID != "bob" {
			t.Errorf("then: got %+v, want a delta", f)
		}
	})
}

func TestSeveralBoards(t *testing.T) {
	t.Parallel()
	boards := newRanking("global", "daily", "secret")
	r := start(t, realtime.Options{Boards: 2}, boards)
	w := r.dial("")
	w.frame()
	w.send(`{"type":"subscribe","board":"daily"}`)
	if f := w.expect(wire.MessageUpdated); f.Board != "daily" {
		t.Errorf("board: got %s, want daily", f.Board)
	}
	refused := []struct{ command, code string }{
		{`{"type":"subscribe","board":"nosuch"}`, "not_found"},
		{`{"type":"subscribe","board":"secret"}`, "forbidden"},
		{`{"type":"subscribe","board":"NO BOARD"}`, "invalid_request"},
		{`{"type":"unknown","board":"daily"}`, "invalid_request"},
		{`[`, "invalid_request"},
		{``, "invalid_request"},
	}
	for _, c := range refused {
		w.send(c.command)
		if f := w.expect(wire.MessageError); f.ErrorCode != c.code || f.Message == "" {
			t.Errorf("%s: got %+v, want error %s", c.command, f, c.code)
		}
	}
	w.send(`{"type":"subscribe","board":"daily"}`) // a second time has no effect
	w.send(`{"type":"unsubscribe","board":"daily"}`)
	w.send(`{"type":"unsubscribe","board":"daily"}`)
	w.send(`{"type":"unknown","board":"daily"}`)
	w.expect(wire.MessageError)
	r.hub.Notify(boards.set("daily", of{"alice": 1}))
	r.hub.Notify(boards.set("global", of{"bob": 1}))
	if f := w.expect(wire.MessageUpdated); f.Board != "global" {
		t.Errorf("board: got %s, want global only", f.Board)
	}
}

func TestTooManyBoards(t *testing.T) {
	t.Parallel()
	r := start(t, realtime.Options{Boards: 2}, newRanking("global", "b1", "b2"))
	w := r.dial("")
	w.frame()
	w.send(`{"type":"subscribe","board":"b1"}`)
	w.expect(wire.MessageUpdated)
	w.send(`{"type":"subscribe","board":"b2"}`)
	if f := w.expect(wire.MessageError); f.ErrorCode != "rate_limited" {
		t.Errorf("got %+v, want rate_limited", f)
	}
}

// A cap below one frame per second makes a pause, as with specification E's 20 per
// minute.
func TestFewMessagesPerMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boards := newRanking("global")
		r := startInMemory(t, realtime.Options{Window: 20 * time.Millisecond, MessagesPerMinute: 40}, boards)
		w := r.dial("")
		w.frame()
		at := time.Now()
		for i := range 2 {
			r.hub.Notify(boards.set("global", of{"alice": scoreboard.Score(i + 1)}))
			w.expect(wire.MessageUpdated)
			if gap := time.Since(at); gap < 1500*time.Millisecond {
				t.Errorf("frames %s apart, want 1.5 s", gap)
			}
			at = time.Now()
		}
	})
}
