package streams_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/streams"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/transporttest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func nothing(context.Context, []scoreboard.Record) (map[int]int64, error) { return nil, nil }

// message is one message of a user.
func message(user, value string) []transport.Message {
	return []transport.Message{{Key: []byte(user), Value: []byte(value)}}
}

// Nothing waits in a queue that nobody reads, also after a flush. Once a consumer was
// there, entries wait for it.
func TestQueueNeedsConsumer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rdb := backends.RedisClient(t, backends.Redis(t))
	queue := streams.New(streams.Options{
		Name: "queue", Group: "group", Shards: 4, Length: 100, Batch: 10, Consumed: true,
	}, rdb)
	rejected := func(when string) {
		t.Helper()
		n, err := queue.Produce(ctx, message("alice", "1"))
		if n != 0 || !errors.Is(err, scoreboard.ErrNoConsumer) {
			t.Errorf("%s: produced %d (%v), want ErrNoConsumer", when, n, err)
		}
		if keys := rdb.Keys(ctx, "*").Val(); len(keys) > 0 {
			t.Errorf("%s: keys %v were created", when, keys)
		}
	}
	rejected("before the first consumer")
	if err := queue.Consumer(transporttest.Quiet).CreateGroups(ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := queue.Produce(ctx, message("alice", "1")); n != 1 || err != nil {
		t.Errorf("with a group: produced %d (%v)", n, err)
	}
	if err := rdb.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	rejected("after a flush")
	// A consumer that runs creates the streams again, and skips nothing.
	got := make(chan string, 10)
	transporttest.Consume(t, queue.Consumer(transporttest.Quiet),
		func(_ context.Context, records []scoreboard.Record) (map[int]int64, error) {
			for _, r := range records {
				got <- string(r.Value)
			}
			return nil, nil
		})
	for round := range 3 {
		want := strconv.Itoa(round)
		transporttest.Until(t, "an entry to be accepted", func() bool {
			n, err := queue.Produce(ctx, message("alice", want))
			return n == 1 && err == nil
		})
		if v := <-got; v != want {
			t.Errorf("got %q, want %q", v, want)
		}
		if err := rdb.FlushAll(ctx).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// A full queue is overloaded until its group has acknowledged entries, and loses none.
func TestFullQueueIsOverloaded(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, rdb := small(t)
	consumer := s.Consumer(transporttest.Quiet)
	if err := consumer.CreateGroups(ctx); err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for ; accepted < 200; accepted++ {
		_, err := s.Produce(ctx, message("alice", "v"))
		if err == nil {
			continue
		}
		e := new(scoreboard.Error)
		if !errors.As(err, &e) || e.Code != wire.CodeOverloaded || e.RetryAfter <= 0 {
			t.Errorf("a full stream: got %v, want overloaded with a delay", err)
		}
		break
	}
	if n := rdb.XLen(ctx, "{small}:0").Val(); accepted != 100 || n != 100 {
		t.Errorf("accepted %d, %d in the stream, want 100", accepted, n)
	}
	handled := 0
	transporttest.Consume(t, consumer, func(_ context.Context, r []scoreboard.Record) (map[int]int64, error) {
		handled += len(r)
		return nil, nil
	})
	if err := consumer.AwaitConsumed(ctx); err != nil || handled != 100 {
		t.Errorf("handled %d (%v), want all 100", handled, err)
	}
	if n, err := s.Produce(ctx, message("alice", "v")); n != 1 || err != nil {
		t.Errorf("after that: produced %d (%v)", n, err)
	}
}

func TestAwaitConsumed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, rdb := small(t)
	consumer := s.Consumer(transporttest.Quiet)
	await := func() error {
		limited, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		return consumer.AwaitConsumed(limited)
	}
	if err := await(); err != nil {
		t.Errorf("without streams: %v", err)
	}
	transporttest.Publish(t, transport.NewEvents(s), transporttest.Events(0, 3))
	if err := await(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("before a group exists: got %v, want a timeout", err)
	}
	if err := consumer.CreateGroups(ctx); err != nil {
		t.Fatal(err)
	}
	read := func(n int64) []redis.XMessage {
		t.Helper()
		found, err := rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: "group", Consumer: "m", Streams: []string{"{small}:0", ">"}, Count: n,
		}).Result()
		if err != nil {
			t.Fatal(err)
		}
		return found[0].Messages
	}
	first := read(2)
	if err := await(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("two read and none acknowledged: got %v, want a timeout", err)
	}
	last := read(1)
	rdb.XAck(ctx, "{small}:0", "group", last[0].ID)
	if err := await(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the first two not acknowledged: got %v, want a timeout", err)
	}
	rdb.XAck(ctx, "{small}:0", "group", first[0].ID, first[1].ID)
	if err := await(); err != nil {
		t.Errorf("all acknowledged: %v", err)
	}
}

// A member that reads entries after it has lost its lease, and dies, leaves them to the
// owner, which has looked for such entries already.
func TestStrayEntriesAreClaimed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, rdb := small(t)
	got := transporttest.NewReceived()
	transporttest.Publish(t, transport.NewEvents(s), transporttest.Events(0, 1))
	transporttest.Consume(t, s.Consumer(transporttest.Quiet), got.Handle)
	transporttest.Until(t, "the owner to read", func() bool { return got.Users() == 1 })
	for {
		transporttest.Publish(t, transport.NewEvents(s), transporttest.Events(1, 1))
		err := rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: "group", Consumer: "stray", Streams: []string{"{small}:0", ">"}, Block: -1,
		}).Err()
		if err == nil {
			break // faster than the owner
		}
	}
	transporttest.Until(t, "the entry to be handled", func() bool {
		p, err := rdb.XPending(ctx, "{small}:0", "group").Result()
		return err == nil && p.Count == 0
	})
}

// The stream of dead letters is bounded by length and by age, and expires as a whole.
func TestOldestEntriesAreDropped(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rdb := backends.RedisClient(t, backends.Redis(t))
	s := streams.New(streams.Options{
		Name: "letters", Shards: 1, Length: 5, Retention: 2 * time.Second, DropOldest: true,
	}, rdb)
	produce := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			if n, err := s.Produce(ctx, message("k", strconv.Itoa(i))); n != 1 || err != nil {
				t.Fatalf("produced %d (%v)", n, err)
			}
		}
	}
	first := func() any { return rdb.XRangeN(ctx, "{letters}:0", "-", "+", 1).Val()[0].Values["v"] }
	produce(0, 9)
	if n := rdb.XLen(ctx, "{letters}:0").Val(); n != 5 || first() != "4" {
		t.Errorf("%d entries from %v on, want the last 5", n, first())
	}
	if ttl := rdb.PTTL(ctx, "{letters}:0").Val(); ttl <= 0 || ttl > 2*time.Second {
		t.Errorf("it expires after %s, want the retention", ttl)
	}
	time.Sleep(1200 * time.Millisecond)
	produce(9, 10)
	time.Sleep(1200 * time.Millisecond) // all but the last are too old
	produce(10, 11)
	if n := rdb.XLen(ctx, "{letters}:0").Val(); n != 2 || first() != "9" {
		t.Errorf("%d entries from %v on, want the 2 young ones", n, first())
	}
}

// In a cluster every command of the queue stays within a slot.
func TestQueueInCluster(t *testing.T) {
	t.Parallel()
	rdb := backends.OwnRedisCluster(t, 3, 0).Client()
	queue := streams.New(streams.Options{
		Name: "queue", Group: "group", Shards: 4, Length: 100, Batch: 10, Consumed: true,
	}, rdb)
	letters := streams.New(streams.Options{
		Name: "letters", Shards: 1, Length: 5, Retention: time.Minute, DropOldest: true,
	}, rdb)
	users := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	var batch []transport.Message
	for _, u := range users {
		batch = append(batch, message(u, u)...)
	}
	if n, err := queue.Produce(t.Context(), batch); n != 0 || !errors.Is(err, scoreboard.ErrNoConsumer) {
		t.Errorf("without a consumer: produced %d (%v)", n, err)
	}
	consumer := queue.Consumer(transporttest.Quiet)
	if err := consumer.CreateGroups(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := queue.Produce(t.Context(), batch); n != len(users) || err != nil {
		t.Errorf("produced %d (%v)", n, err)
	}
	if lag, err := consumer.MeasureLag(t.Context()); lag != int64(len(users)) || err != nil {
		t.Errorf("lag %d (%v)", lag, err)
	}
	transporttest.Consume(t, consumer, nothing)
	if err := consumer.AwaitConsumed(t.Context()); err != nil {
		t.Error(err)
	}
	for range 7 {
		if n, err := letters.Produce(t.Context(), message("k", "v")); n != 1 || err != nil {
			t.Errorf("letter: %d (%v)", n, err)
		}
	}
}
