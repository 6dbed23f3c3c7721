package transporttest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// TestDelivery tests what every transport promises. newRig makes a transport of
// its own for each test.
func TestDelivery(t *testing.T, newRig func(t *testing.T) Rig) {
	run := func(name string, test func(t *testing.T, r Rig)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newRig(t))
		})
	}
	run("every record is delivered once", testDelivered)
	run("records are redelivered after an error", testRedelivered)
	run("member killed between handling and commit", testKilledMember)
}

// TestGroups tests what a transport with partitions and groups promises.
func TestGroups(t *testing.T, newRig func(t *testing.T) Rig) {
	run := func(name string, test func(t *testing.T, r Rig)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newRig(t))
		})
	}
	run("a paused partition does not stop the others", testPaused)
	run("the lag is what the group has not consumed", testLag)
}

func testDelivered(t *testing.T, r Rig) {
	got := NewReceived()
	stop := Consume(t, r.Consumer(), got.Handle)
	Publish(t, r, Events(0, 300))
	Until(t, "all 300 delivered", func() bool { return got.Users() == 300 })
	at := time.UnixMicro(1_800_000_000_000_000).UTC()
	if err := r.Heartbeat(t.Context(), scoreboard.Heartbeat{Shard: 0, Shards: 1, AsOf: at}); err != nil {
		t.Fatal(err)
	}
	Until(t, "a heartbeat in every partition", func() bool {
		got.mu.Lock()
		defer got.mu.Unlock()
		for _, b := range got.beats {
			return len(got.beats) == b.Partitions && b.AsOf.Equal(at)
		}
		return false
	})
	stop()
	// Committed records are not delivered again.
	next := NewReceived()
	Consume(t, r.Consumer(), next.Handle)
	Publish(t, r, Events(300, 100))
	Until(t, "the rest delivered", func() bool { return next.Users() >= 100 })
	if n := next.Users(); n != 100 {
		t.Errorf("the next member received %d records, want the 100 new ones", n)
	}
}

func testRedelivered(t *testing.T, r Rig) {
	got := NewReceived()
	var calls atomic.Int64
	Consume(t, r.Consumer(), func(ctx context.Context, records []scoreboard.Record) (map[int]int64, error) {
		if calls.Add(1) <= 2 {
			return nil, ErrTemporary
		}
		return got.Handle(ctx, records)
	})
	Publish(t, r, Events(0, 120))
	Until(t, "all 120 delivered", func() bool { return got.Users() == 120 })
}

func testKilledMember(t *testing.T, r Rig) {
	handled := NewReceived()
	stop := Consume(t, r.Consumer(), func(ctx context.Context, records []scoreboard.Record) (map[int]int64, error) {
		if _, err := handled.Handle(ctx, records); err != nil {
			return nil, err
		}
		return nil, ErrTemporary // handled, but the member dies before the commit
	})
	Publish(t, r, Events(0, 60))
	Until(t, "a record handled", func() bool { return handled.Users() > 0 })
	stop()
	next := NewReceived()
	Consume(t, r.Consumer(), next.Handle)
	Until(t, "all delivered to the next member", func() bool { return next.Users() == 60 })
}

func testPaused(t *testing.T, r Rig) {
	got := NewReceived()
	var pausedPartition atomic.Int64
	pausedPartition.Store(-1)
	stop := Consume(t, r.Consumer(), func(ctx context.Context, records []scoreboard.Record) (map[int]int64, error) {
		paused := map[int]int64{}
		var good []scoreboard.Record
		for _, record := range records {
			change, _, err := protocol.DecodeEvent(record.Value)
			if err != nil {
				return nil, err
			}
			if change.User == "u0" {
				paused[record.Partition] = record.Offset
				pausedPartition.Store(int64(record.Partition))
			}
			if first, ok := paused[record.Partition]; ok && record.Offset >= first {
				continue
			}
			if int64(record.Partition) == pausedPartition.Load() {
				t.Errorf("offset %d of the paused partition was delivered", record.Offset)
			}
			good = append(good, record)
		}
		_, err := got.Handle(ctx, good)
		return paused, err
	})
	Publish(t, r, Events(0, 1))
	Until(t, "paused", func() bool { return pausedPartition.Load() >= 0 })
	Publish(t, r, Events(1, 199))
	Until(t, "most of the others handled", func() bool { return got.Users() > 80 })
	stop()
	if got.of("u0") > 0 {
		t.Error("the record at the pause counts as handled")
	}
	// A member that can read the record receives it and all that follow.
	Consume(t, r.Consumer(), got.Handle)
	Until(t, "all 200 delivered", func() bool { return got.Users() == 200 })
}

func testLag(t *testing.T, r Rig) {
	wantLag := func(when string, want int64) {
		t.Helper()
		Until(t, "the lag expected "+when, func() bool {
			n, err := r.Consumer().MeasureLag(t.Context())
			return err == nil && n == want
		})
	}
	wantLag("of an empty topic", 0)
	Publish(t, r, Events(0, 30))
	wantLag("before the first read", 30)
	got := NewReceived()
	stop := Consume(t, r.Consumer(), got.Handle)
	wantLag("after everything is read", 0)
	stop()
	Publish(t, r, Events(30, 20))
	wantLag("of what was published since", 20)
	stop = Consume(t, r.Consumer(), func(context.Context, []scoreboard.Record) (map[int]int64, error) {
		return nil, ErrTemporary
	})
	stop() // records that are delivered and not acknowledged count
	wantLag("of unacknowledged records", 20)
}
