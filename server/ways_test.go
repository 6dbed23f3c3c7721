package server

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/broker"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// end is a way's other end: what is left in it is what a test says.
type end struct {
	*broker.Direct
	left atomic.Int64 // -1: it does not say
	got  atomic.Int64
}

func (e *end) Behind(context.Context) (int64, error) {
	if n := e.left.Load(); n >= 0 {
		return n, nil
	}
	return 0, errors.New("no broker answers")
}

func wayTo(t *testing.T, name string) (*way, *end) {
	e := &end{Direct: broker.NewDirect()}
	done := make(chan error, 1)
	go func() {
		done <- e.Consume(t.Context(), func(_ context.Context, records []broker.Record) (map[int]int64, error) {
			e.got.Add(int64(len(records)))
			return nil, nil
		})
	}()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &way{name: name, events: broker.NewEvents(e.Direct), from: e}, e
}

// A heartbeat says that all before it has arrived: by another way, too.
func TestNoHeartbeatIsSentWhileSomethingIsLeftInTheOtherWay(t *testing.T) {
	t.Parallel()
	kafka, old := wayTo(t, "kafka")
	streams, now := wayTo(t, "streams")
	w := newWays([]*way{streams, kafka}, "kafka", slog.New(slog.DiscardHandler))
	beat := func(to *end, want int64) {
		t.Helper()
		before := to.got.Load()
		if err := w.Heartbeat(t.Context(), scoreboard.Heartbeat{Shards: 1, AsOf: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if got := to.got.Load() - before; got != want {
			t.Errorf("%d heartbeats were sent, want %d", got, want)
		}
	}
	beat(old, 1)
	w.take("streams")
	beat(now, 0)
	for _, left := range []int64{5, -1} {
		old.left.Store(left)
		w.look(t.Context())
		beat(now, 0)
		if n, err := w.Publish(t.Context(), []scoreboard.Change{{User: "alice", Board: "global"}}); n != 1 || err != nil {
			t.Errorf("published %d, %v; a change waits for nothing", n, err)
		}
	}
	old.left.Store(0)
	w.look(t.Context())
	beat(now, 1)
	old.left.Store(1) // of a relay that had not heard of the turn
	w.look(t.Context())
	beat(now, 0)
	w.take("pigeons")
	old.left.Store(0)
	w.look(t.Context())
	beat(now, 1)
	if n := old.got.Load(); n != 1 {
		t.Errorf("%d records went the old way, want the first heartbeat", n)
	}
}
