package streams_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/streams"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/transporttest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestMain(m *testing.M) { backends.Main(m) }

func TestTransport(t *testing.T) {
	t.Parallel()
	newRig := func(t *testing.T) transporttest.Rig {
		s := streams.New(
			streams.Options{Name: "sb:stream", Group: "group", Shards: 4, Length: 10_000, Batch: 50},
			backends.RedisClient(t, backends.Redis(t)),
		)
		return transporttest.New(s, func() transport.Consumer { return s.Consumer(transporttest.Quiet) })
	}
	transporttest.TestDelivery(t, newRig)
	transporttest.TestGroups(t, newRig)
}

// In a cluster the streams are on several servers.
func TestTransportInCluster(t *testing.T) {
	t.Parallel()
	rdb := backends.OwnRedisCluster(t, 3, 0).Client()
	first, second := rdb.ClusterKeySlot(t.Context(), "{sb:stream:0}"), rdb.ClusterKeySlot(t.Context(), "{sb:stream:1}")
	if first.Val() == second.Val() {
		t.Errorf("two streams are in slot %d", first.Val())
	}
	transporttest.TestDelivery(t, func(t *testing.T) transporttest.Rig {
		name := rand.Text() // every test has streams of its own
		s := streams.New(
			streams.Options{
				Name: name, Group: "group", Shards: 4, Length: 10_000, Batch: 50, Retention: time.Hour,
			}, rdb,
		)
		if err := s.Expire(t.Context()); err != nil {
			t.Error(err)
		}
		return transporttest.New(s, func() transport.Consumer { return s.Consumer(transporttest.Quiet) })
	})
}

// small makes a transport with one short stream.
func small(t testing.TB) (*streams.Transport, *redis.Client) {
	t.Helper()
	rdb := backends.RedisClient(t, backends.Redis(t))
	return streams.New(streams.Options{Name: "small", Group: "group", Shards: 1, Length: 100, Batch: 10}, rdb), rdb
}

func TestFullStreamBlocksWithoutLoss(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, rdb := small(t)
	events := transport.NewEvents(s)
	published := 0
	for ; published < 1000; published += 20 {
		if _, err := events.Publish(ctx, transporttest.Events(published, 20)); err != nil {
			break
		}
	}
	if published < 100 || published > 140 {
		t.Fatalf("an unread stream of 100 took %d entries", published)
	}
	got := transporttest.NewReceived()
	stop := transporttest.Consume(t, s.Consumer(transporttest.Quiet), got.Handle)
	for ; published < 1000; published += 20 {
		transporttest.Until(t, "room", func() bool {
			n, err := events.Publish(ctx, transporttest.Events(published, 20))
			return err == nil && n == 20
		})
	}
	transporttest.Until(t, "all 1000 delivered", func() bool { return got.Users() == 1000 })
	stop()
	if n := rdb.XLen(ctx, "{small}:0").Val(); n > 120 {
		t.Errorf("the stream holds %d entries, want about 100 at most", n)
	}
	// A second group that has read nothing keeps all entries.
	if err := rdb.XGroupCreate(ctx, "{small}:0", "slow", "0").Err(); err != nil {
		t.Fatal(err)
	}
	before := rdb.XRange(ctx, "{small}:0", "-", "+").Val()[0].ID
	for published = 1000; published < 1200; published += 20 {
		if _, err := events.Publish(ctx, transporttest.Events(published, 20)); err != nil {
			break
		}
	}
	if after := rdb.XRange(ctx, "{small}:0", "-", "+").Val()[0].ID; after != before {
		t.Errorf("entry %s was trimmed before the slowest group read it", before)
	}
}

func TestStreamOfDeadMemberIsTakenOver(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, rdb := small(t)
	transporttest.Publish(t, transport.NewEvents(s), transporttest.Events(0, 30))
	dead, die := context.WithCancel(context.Background())
	hung := make(chan struct{})
	ended := make(chan error, 1)
	go func() { // receives a batch, and neither handles nor releases it
		ended <- s.Consumer(transporttest.Quiet).Consume(dead,
			func(ctx context.Context, _ []scoreboard.Record) (map[int]int64, error) {
				close(hung)
				<-ctx.Done()
				return nil, transporttest.ErrTemporary
			})
	}()
	<-hung
	got := transporttest.NewReceived()
	began := time.Now()
	transporttest.Consume(t, s.Consumer(transporttest.Quiet), got.Handle)
	transporttest.Until(t, "all delivered to the other member", func() bool { return got.Users() == 30 })
	if took := time.Since(began); took < time.Second || took > 8*time.Second {
		t.Errorf("taken over after %v, want soon after the lease has expired and not before", took)
	}
	die()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if p, err := rdb.XPending(ctx, "{small}:0", "group").Result(); err != nil || p.Count > 0 {
		t.Errorf("pending entries: %+v (%v), want none", p, err)
	}
}

// A flush deletes the stream while a read waits for entries, or between two reads.
// Neither interrupts the consumer.
func TestConsumerSurvivesFlush(t *testing.T) {
	t.Parallel()
	s, rdb := small(t)
	got := transporttest.NewReceived()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Consumer(transporttest.Quiet).Consume(ctx, got.Handle) }()
	for round := range 5 {
		transporttest.Publish(t, transport.NewEvents(s), transporttest.Events(10*round, 10))
		transporttest.Until(t, "ten more delivered", func() bool { return got.Users() == 10*(round+1) })
		time.Sleep(time.Duration(20*round) * time.Millisecond) // the next read waits
		if err := rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("the consumer ended: %v", err)
	case <-time.After(time.Second): // longer than a read waits
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
