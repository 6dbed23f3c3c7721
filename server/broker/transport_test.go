package broker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/broker"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestEverythingPublishedIsHandedOver(t *testing.T) {
	onAll(t, func(t *testing.T, way transport) {
		s := newSeen()
		stop := consume(t, way.source(), s.take)
		publish(t, way, events(0, 300))
		until(t, "all 300 handed over", func() bool { return s.count() == 300 })
		at := time.UnixMicro(1_800_000_000_000_000).UTC()
		if err := way.Heartbeat(ctx, scoreboard.Heartbeat{Shard: 0, Shards: 1, AsOf: at}); err != nil {
			t.Fatal(err)
		}
		until(t, "a heartbeat of every partition", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, b := range s.beats {
				return len(s.beats) == b.Partitions && b.AsOf.Equal(at)
			}
			return false
		})
		stop()
		// What was counted as consumed is not handed over again.
		again := newSeen()
		consume(t, way.source(), again.take)
		publish(t, way, events(300, 100))
		until(t, "the rest handed over", func() bool { return again.count() >= 100 })
		if n := again.count(); n != 100 {
			t.Errorf("%d records were handed over to the next member, want the 100 new ones", n)
		}
	})
}

func TestRecordsAreHandedOverAgainAfterAnError(t *testing.T) {
	onAll(t, func(t *testing.T, way transport) {
		s := newSeen()
		var calls atomic.Int64
		consume(t, way.source(), func(ctx context.Context, records []broker.Record) (map[int]int64, error) {
			if calls.Add(1) <= 2 {
				return nil, errNotNow
			}
			return s.take(ctx, records)
		})
		publish(t, way, events(0, 120))
		until(t, "all 120 handed over", func() bool { return s.count() == 120 })
	})
}

func TestMemberKilledBetweenHandlingAndCommit(t *testing.T) {
	onAll(t, func(t *testing.T, way transport) {
		handled := newSeen()
		stop := consume(t, way.source(), func(ctx context.Context, records []broker.Record) (map[int]int64, error) {
			if _, err := handled.take(ctx, records); err != nil {
				return nil, err
			}
			return nil, errNotNow // it is applied, and the member dies before it says so
		})
		publish(t, way, events(0, 60))
		until(t, "something handled", func() bool { return handled.count() > 0 })
		stop()
		next := newSeen()
		consume(t, way.source(), next.take)
		until(t, "all handed over to the next", func() bool { return next.count() == 60 })
	})
}

func TestAHeldPartitionDoesNotStopTheOthers(t *testing.T) {
	onEach(t, func(t *testing.T, way transport) {
		s := newSeen()
		var where atomic.Int64
		where.Store(-1)
		stop := consume(t, way.source(), func(ctx context.Context, records []broker.Record) (map[int]int64, error) {
			held := map[int]int64{}
			var good []broker.Record
			for _, r := range records {
				change, _, err := protocol.DecodeEvent(r.Value)
				if err != nil {
					return nil, err
				}
				if change.User == "u0" {
					held[r.Partition] = r.Offset
					where.Store(int64(r.Partition))
				}
				if first, is := held[r.Partition]; is && r.Offset >= first {
					continue
				}
				if int64(r.Partition) == where.Load() {
					t.Errorf("offset %d of the held partition was handed over", r.Offset)
				}
				good = append(good, r)
			}
			_, err := s.take(ctx, good)
			return held, err
		})
		publish(t, way, events(0, 1))
		until(t, "held", func() bool { return where.Load() >= 0 })
		publish(t, way, events(1, 199))
		until(t, "most of the rest handled", func() bool { return s.count() > 80 })
		stop()
		if s.users["u0"] > 0 {
			t.Error("what was held counts as handled")
		}
		// A member that reads it gets it, and all that came behind it.
		consume(t, way.source(), s.take)
		until(t, "all 200 handed over", func() bool { return s.count() == 200 })
	})
}

func TestBehindIsWhatTheGroupHasNotConsumed(t *testing.T) {
	onEach(t, func(t *testing.T, way transport) {
		is := func(what string, want int64) {
			t.Helper()
			until(t, what, func() bool {
				n, err := way.source().Behind(ctx)
				return err == nil && n == want
			})
		}
		is("nothing, where nothing ever was", 0)
		publish(t, way, events(0, 30))
		is("all, where nobody has read", 30)
		s := newSeen()
		stop := consume(t, way.source(), s.take)
		is("nothing, where all is read", 0)
		stop()
		publish(t, way, events(30, 20))
		is("what came since", 20)
		stop = consume(t, way.source(), func(context.Context, []broker.Record) (map[int]int64, error) { return nil, errNotNow })
		stop() // what is delivered, and not acknowledged, counts
		is("what came since, still", 20)
	})
}
