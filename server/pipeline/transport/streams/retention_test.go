package streams_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/streams"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/transporttest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// An erased user's entries are gone after the retention, also from a stream that nothing
// is written to any more and that another group has not read. What has not been applied
// stays.
func TestAppliedEntriesExpire(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rdb := backends.RedisClient(t, backends.Redis(t))
	const stream, retention = "{brief}:0", 200 * time.Millisecond
	o := streams.Options{Name: "brief", Group: "group", Shards: 1, Length: 1000, Batch: 10, Retention: retention}
	s := streams.New(o, rdb)
	publish := func(from, n int) {
		t.Helper()
		if _, err := transport.NewEvents(s).Publish(ctx, transporttest.Events(from, n)); err != nil {
			t.Fatal(err)
		}
	}
	length := func() int64 { return rdb.XLen(ctx, stream).Val() }
	if err := s.Expire(ctx); err != nil {
		t.Fatalf("before the first entry: %v", err)
	}
	publish(0, 5)
	if err := rdb.XGroupCreate(ctx, stream, "others", "0").Err(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * retention)
	// The entries are old, but no projector has read them; then it reads, and fails.
	if err := s.Expire(ctx); err != nil || length() != 5 {
		t.Fatalf("unread entries: %v, %d left, want 5", err, length())
	}
	err := rdb.XGroupCreate(ctx, stream, "group", "0").Err()
	if err == nil {
		err = rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: "group", Consumer: "dead", Streams: []string{stream, ">"}, Count: 3,
		}).Err()
	}
	first := rdb.XRangeN(ctx, stream, "-", "+", 2).Val()
	if err != nil || len(first) != 2 {
		t.Fatal(err, first)
	}
	if err := rdb.XAck(ctx, stream, "group", first[0].ID).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Expire(ctx); err != nil || length() != 4 {
		t.Fatalf("one of five entries applied: %v, %d left, want the 4 others", err, length())
	}
	got := transporttest.NewReceived()
	stop := transporttest.Consume(t, s.Consumer(transporttest.Quiet), got.Handle)
	transporttest.Until(t, "the other four delivered", func() bool { return got.Users() == 4 })
	stop()
	publish(5, 1) // young, and unread
	if err := s.Expire(ctx); err != nil {
		t.Fatal(err)
	}
	left := rdb.XRange(ctx, stream, "-", "+").Val()
	if len(left) != 1 || left[0].Values["k"] != string(transporttest.Events(5, 1)[0].User) {
		t.Errorf("got %d entries, %v, want the young one", len(left), left)
	}
}

// A consumer removes old entries by itself.
func TestConsumerExpiresEntries(t *testing.T) {
	t.Parallel()
	rdb := backends.RedisClient(t, backends.Redis(t))
	o := streams.Options{
		Name: "brief", Group: "group", Shards: 2, Length: 1000, Batch: 10, Retention: 50 * time.Millisecond,
	}
	s := streams.New(o, rdb)
	if _, err := transport.NewEvents(s).Publish(t.Context(), transporttest.Events(0, 20)); err != nil {
		t.Fatal(err)
	}
	handle := func(context.Context, []scoreboard.Record) (map[int]int64, error) { return nil, nil }
	first := s.Consumer(transporttest.Quiet)
	stopFirst := transporttest.Consume(t, first, handle)
	transporttest.Until(t, "all to be acknowledged", func() bool {
		lag, err := first.MeasureLag(t.Context())
		return err == nil && lag == 0
	})
	stopFirst()
	time.Sleep(2 * o.Retention)
	stop := transporttest.Consume(t, s.Consumer(transporttest.Quiet), handle) // removes at its start
	defer stop()
	transporttest.Until(t, "both streams to be empty", func() bool {
		left := []int64{rdb.XLen(t.Context(), "{brief}:0").Val(), rdb.XLen(t.Context(), "{brief}:1").Val()}
		return slices.Equal(left, []int64{0, 0})
	})
}
