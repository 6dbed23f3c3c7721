package broker_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/backendtest"
	"github.com/scoreboard/scoreboard/server/broker"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestMain(m *testing.M) { backendtest.Main(m) }

var (
	ctx   = context.Background()
	quiet = slog.New(slog.DiscardHandler)
)

// source is what hands over records.
type source interface {
	Consume(ctx context.Context, handle broker.Handler) error
	Behind(ctx context.Context) (int64, error)
}

// publisher is what the relay publishes to.
type publisher interface {
	Publish(ctx context.Context, changes []scoreboard.Change) (int, error)
	Heartbeat(ctx context.Context, h scoreboard.Heartbeat) error
}

// transport is one way from the relay to the projection.
type transport struct {
	publisher
	source func() source // a new member of the same group
}

// onEach runs a test over every transport.
func onEach(t *testing.T, do func(t *testing.T, way transport)) {
	t.Parallel()
	backendtest.EachKafka(t, func(t *testing.T, brokers []string, prefix string) { do(t, overKafka(t, brokers, prefix)) })
	t.Run("streams", func(t *testing.T) {
		t.Parallel()
		do(t, overStreams(t, backendtest.Redis(t)))
	})
}

// onAll is onEach, and the way without a broker, which has one partition and
// leaves with its producer what is not handled.
func onAll(t *testing.T, do func(t *testing.T, way transport)) {
	onEach(t, do)
	t.Run("direct", func(t *testing.T) {
		t.Parallel()
		d := broker.NewDirect()
		do(t, transport{&persistent{t: t, Events: broker.NewEvents(d)}, func() source { return d }})
	})
}

// persistent is a producer that tries again until everything is handled, as
// the relay does.
type persistent struct {
	*broker.Events
	t testing.TB
}

func (p *persistent) Publish(_ context.Context, changes []scoreboard.Change) (int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for left := changes; len(left) > 0 && ctx.Err() == nil; {
			n, err := p.Events.Publish(ctx, left[:min(50, len(left))])
			if left = left[n:]; err != nil {
				time.Sleep(10 * time.Millisecond)
			}
		}
	}()
	p.t.Cleanup(func() { cancel(); <-done })
	return len(changes), nil
}

func overStreams(t testing.TB, url string) transport {
	t.Helper()
	rdb := backendtest.RedisClient(t, url)
	s := broker.NewStreams(broker.StreamsOptions{Name: "leaderboard:stream", Group: "group", Shards: 4, Length: 10_000, Batch: 50}, rdb)
	return transport{broker.NewEvents(s), func() source { return s.Consumer(quiet) }}
}

func overKafka(t testing.TB, brokers []string, prefix string) transport {
	t.Helper()
	k := connect(t, brokers)
	topic := prefix + "events"
	if _, err := k.Ensure(ctx, broker.Topic{Name: topic, Partitions: 4, Retention: time.Hour, Replicas: 1}); err != nil {
		t.Fatal(err)
	}
	p := k.Producer(topic)
	t.Cleanup(func() { _ = p.Close() })
	return transport{broker.NewEvents(p), func() source { return k.Consumer(topic, prefix+"group", 50, quiet) }}
}

func connect(t testing.TB, brokers []string) *broker.Kafka {
	t.Helper()
	k := broker.NewKafka(broker.KafkaOptions{Brokers: brokers, Linger: time.Millisecond, Timeout: 3 * time.Second, Compression: "lz4", Acks: "all"})
	t.Cleanup(k.Close)
	return k
}

// events makes n changes of as many users, from a number on.
func events(from, n int) []scoreboard.Change {
	var changes []scoreboard.Change
	for i := from; i < from+n; i++ {
		at := time.UnixMicro(1_800_000_000_000_000 + int64(i)).UTC()
		changes = append(changes, scoreboard.Change{
			Type: scoreboard.ChangeScore, Event: [16]byte{byte(i), byte(i >> 8)}, Board: "global", User: scoreboard.UserID("u" + strconv.Itoa(i)),
			Score: 5, Key: -5, Version: 1, Revision: 1, ReachedAt: at, RecordedAt: at,
		})
	}
	return changes
}

func publish(t testing.TB, p publisher, changes []scoreboard.Change) {
	t.Helper()
	if n, err := p.Publish(ctx, changes); err != nil || n != len(changes) {
		t.Fatalf("published %d of %d: %v", n, len(changes), err)
	}
}

// seen collects what was handed over.
type seen struct {
	mu    sync.Mutex
	users map[string]int
	beats map[int]scoreboard.Heartbeat // of each partition
}

func newSeen() *seen { return &seen{users: map[string]int{}, beats: map[int]scoreboard.Heartbeat{}} }

func (s *seen) take(_ context.Context, records []broker.Record) (map[int]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		change, beat, err := protocol.DecodeEvent(r.Value)
		switch {
		case err != nil:
			return nil, err
		case beat != nil:
			s.beats[r.Partition] = *beat
		default:
			s.users[string(change.User)]++
		}
	}
	return nil, nil
}

func (s *seen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.users)
}

// consume runs a member of the group until stop, as the projection does: anew
// after an error.
func consume(t testing.TB, from source, handle broker.Handler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := from.Consume(ctx, handle); err != nil {
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return stop
}

var errNotNow = errors.New("not now")

func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 60 s: not %s", what)
		}
	}
}
