package kafka_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/backendtest"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/transport"
	"github.com/scoreboard/scoreboard/server/transport/kafka"
)

// Every follower gets every notice of all partitions, from when it began, and
// one that nobody can read holds up none.
func TestNoticesReachEveryFollower(t *testing.T) {
	t.Parallel()
	k := kafka.New(kafka.Options{Brokers: backendtest.Kafka(t), Linger: time.Millisecond, Timeout: 10 * time.Second})
	t.Cleanup(k.Close)
	topic := backendtest.Prefix(t) + "notices"
	producer := k.Producer(topic)
	t.Cleanup(func() { _ = producer.Close() })
	following, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	heard, broken := make([]chan scoreboard.BoardID, 2), make(chan error, 1000)
	for i := range heard {
		heard[i] = make(chan scoreboard.BoardID, 100_000)
		all.Go(func() {
			if err := k.Notices(topic).Follow(following, func(n scoreboard.Notice) { heard[i] <- n.Board }, func(err error) { broken <- err }); err != nil {
				t.Error(err)
			}
		})
	}
	// The topic comes after its followers, as it may in a new cluster.
	if _, err := k.Ensure(t.Context(), kafka.Topic{Name: topic, Partitions: 3, Retention: time.Hour, Cleanup: "compact", Replicas: -1}); err != nil {
		t.Fatal(err)
	}
	boards := []scoreboard.BoardID{"b1", "b2", "b3", "b4", "b5", "b6"}
	notices := transport.NewNotices(producer)
	missing := make([]map[scoreboard.BoardID]bool, len(heard))
	for i := range missing {
		missing[i] = make(map[scoreboard.BoardID]bool)
		for _, b := range boards {
			missing[i][b] = true
		}
	}
	deadline := time.Now().Add(30 * time.Second)
	for n := int64(1); len(missing[0])+len(missing[1]) > 0; n++ {
		if time.Now().After(deadline) {
			t.Fatalf("not heard of: %v", missing)
		}
		for _, b := range boards { // again and again: they began to follow at some time
			top := &scoreboard.Top{Board: b, Epoch: 1, Version: n, UpdatedAt: time.Now(), Entries: []scoreboard.Entry{{Rank: 1, User: "alice", Score: 5}}}
			if err := notices.Announce(t.Context(), []scoreboard.Notice{{Board: b, Top: top}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := producer.Produce(t.Context(), []transport.Message{{Key: []byte("b1"), Value: []byte(`{"schema":99,"type":"leaderboard.notice"}`)}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		for i := range heard {
			for len(heard[i]) > 0 {
				delete(missing[i], <-heard[i])
			}
		}
	}
	if err := <-broken; !errors.Is(err, protocol.ErrNewerSchema) {
		t.Errorf("what cannot be read: got %v, want a newer schema", err)
	}
}
