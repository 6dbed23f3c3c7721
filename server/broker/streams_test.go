package broker_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/backendtest"
	"github.com/scoreboard/scoreboard/server/broker"
)

// narrow is one short stream.
func narrow(t testing.TB) (*broker.Streams, *redis.Client) {
	t.Helper()
	rdb := backendtest.RedisClient(t, backendtest.Redis(t))
	return broker.NewStreams(broker.StreamsOptions{Name: "narrow", Group: "group", Shards: 1, Length: 100, Batch: 10}, rdb), rdb
}

func TestAFullStreamMakesTheProducerWaitAndLosesNothing(t *testing.T) {
	t.Parallel()
	s, rdb := narrow(t)
	way := broker.NewEvents(s)
	published := 0
	for ; published < 1000; published += 20 {
		if _, err := way.Publish(ctx, events(published, 20)); err != nil {
			break
		}
	}
	if published < 100 || published > 140 {
		t.Fatalf("%d went into a stream of 100 that nobody reads", published)
	}
	got := newSeen()
	stop := consume(t, s.Consumer(quiet), got.take)
	for ; published < 1000; published += 20 {
		until(t, "room", func() bool {
			n, err := way.Publish(ctx, events(published, 20))
			return err == nil && n == 20
		})
	}
	until(t, "all 1000 handed over", func() bool { return got.count() == 1000 })
	stop()
	if n := rdb.XLen(ctx, "{narrow}:0").Val(); n > 120 {
		t.Errorf("the stream holds %d entries, want about 100 at most", n)
	}
	// A second group that has read nothing holds everything.
	if err := rdb.XGroupCreate(ctx, "{narrow}:0", "slow", "0").Err(); err != nil {
		t.Fatal(err)
	}
	before := rdb.XRange(ctx, "{narrow}:0", "-", "+").Val()[0].ID
	for published = 1000; published < 1200; published += 20 {
		if _, err := way.Publish(ctx, events(published, 20)); err != nil {
			break
		}
	}
	if after := rdb.XRange(ctx, "{narrow}:0", "-", "+").Val()[0].ID; after != before {
		t.Errorf("entry %s was trimmed before the slowest group read it", before)
	}
}

func TestAStreamOfADeadMemberIsTakenOverWithWhatItLeft(t *testing.T) {
	t.Parallel()
	s, rdb := narrow(t)
	publish(t, broker.NewEvents(s), events(0, 30))
	dead, die := context.WithCancel(ctx)
	hung := make(chan struct{})
	ended := make(chan error, 1)
	go func() { // takes a batch, and neither handles nor releases it
		ended <- s.Consumer(quiet).Consume(dead, func(ctx context.Context, _ []broker.Record) (map[int]int64, error) {
			close(hung)
			<-ctx.Done()
			return nil, errNotNow
		})
	}()
	<-hung
	got := newSeen()
	began := time.Now()
	consume(t, s.Consumer(quiet), got.take)
	until(t, "all handed over to the living", func() bool { return got.count() == 30 })
	if took := time.Since(began); took < time.Second || took > 8*time.Second {
		t.Errorf("taken over after %v: neither before the lease ends nor long after", took)
	}
	die()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if p, err := rdb.XPending(ctx, "{narrow}:0", "group").Result(); err != nil || p.Count > 0 {
		t.Errorf("%+v is pending (%v)", p, err)
	}
}

func TestAFlushedStreamGoesOn(t *testing.T) {
	t.Parallel()
	s, rdb := narrow(t)
	got := newSeen()
	consume(t, s.Consumer(quiet), got.take)
	publish(t, broker.NewEvents(s), events(0, 10))
	until(t, "the first handed over", func() bool { return got.count() == 10 })
	if err := rdb.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	publish(t, broker.NewEvents(s), events(10, 10))
	until(t, "the rest handed over", func() bool { return got.count() == 20 })
}
