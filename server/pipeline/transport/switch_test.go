package transport

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// fake is both ends of a transport. The test sets its lag.
type fake struct {
	lag      atomic.Int64 // -1: MeasureLag returns an error
	produced atomic.Int64
}

func (f *fake) Produce(_ context.Context, messages []Message) (int, error) {
	f.produced.Add(int64(len(messages)))
	return len(messages), nil
}

func (f *fake) Broadcast(context.Context, []byte, []byte) error {
	f.produced.Add(1)
	return nil
}

func (f *fake) Partitions(context.Context) (int, error) { return 1, nil }

func (f *fake) Consume(ctx context.Context, _ Handler) error {
	<-ctx.Done()
	return nil
}

func (f *fake) Intact(context.Context) bool { return true }

func (f *fake) MeasureLag(context.Context) (int64, error) {
	if n := f.lag.Load(); n >= 0 {
		return n, nil
	}
	return 0, errors.New("no broker answers")
}

// A heartbeat promises that everything before it has arrived, also what another
// transport carries.
func TestNoHeartbeatUntilOtherTransportsAreEmpty(t *testing.T) {
	t.Parallel()
	before, after := &fake{}, &fake{}
	s := NewSwitch(SwitchOptions{CheckInterval: time.Second, Overlap: time.Hour}, []*Transport{
		{Name: "streams", Producer: after, Consumer: after},
		{Name: "kafka", Producer: before, Consumer: before},
	}, "kafka", slog.New(slog.DiscardHandler))
	wantBeats := func(to *fake, want int64) {
		t.Helper()
		sent := to.produced.Load()
		if err := s.Heartbeat(t.Context(), scoreboard.Heartbeat{Shards: 1, AsOf: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if got := to.produced.Load() - sent; got != want {
			t.Errorf("%d heartbeats were sent, want %d", got, want)
		}
	}
	wantBeats(before, 1)
	s.SwitchTo("streams")
	wantBeats(after, 0)
	for _, lag := range []int64{5, -1} {
		before.lag.Store(lag)
		s.check(t.Context())
		wantBeats(after, 0)
		n, err := s.Publish(t.Context(), []scoreboard.Change{{User: "alice", Board: "global"}})
		if n != 1 || err != nil {
			t.Errorf("published %d, %v; changes must not wait for the other transport", n, err)
		}
	}
	before.lag.Store(0)
	s.check(t.Context())
	wantBeats(after, 1)
	before.lag.Store(1) // from a relay that had not read the new setting yet
	s.check(t.Context())
	wantBeats(after, 0)
	s.SwitchTo("unknown")
	before.lag.Store(0)
	s.check(t.Context())
	wantBeats(after, 1)
	if n := before.produced.Load(); n != 1 {
		t.Errorf("%d messages went to the transport that was left, want the first heartbeat alone", n)
	}
}
