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

// Every follower receives the notices of all partitions from the time it starts.
// A notice that cannot be decoded does not delay the others.
func TestNoticesReachEveryFollower(t *testing.T) {
	t.Parallel()
	k := kafka.New(kafka.Options{Brokers: backendtest.Kafka(t), Timeout: 10 * time.Second})
	t.Cleanup(k.Close)
	topic := backendtest.Prefix(t) + "notices"
	producer := k.Producer(topic)
	t.Cleanup(func() { _ = producer.Close() })
	followCtx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	received, malformed := make([]chan scoreboard.BoardID, 2), make(chan error, 1000)
	for i := range received {
		received[i] = make(chan scoreboard.BoardID, 100_000)
		all.Go(func() {
			do := func(n scoreboard.Notice) { received[i] <- n.Board }
			if err := k.Notices(topic).Follow(followCtx, do, func(err error) { malformed <- err }); err != nil {
				t.Error(err)
			}
		})
	}
	// The topic is created after its followers have started, as in a new cluster.
	settings := kafka.Topic{Name: topic, Partitions: 3, Retention: time.Hour, Cleanup: "compact", Replicas: -1}
	if _, err := k.Ensure(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	boards := []scoreboard.BoardID{"b1", "b2", "b3", "b4", "b5", "b6"}
	notices := transport.NewNotices(producer)
	missing := make([]map[scoreboard.BoardID]bool, len(received))
	for i := range missing {
		missing[i] = make(map[scoreboard.BoardID]bool)
		for _, b := range boards {
			missing[i][b] = true
		}
	}
	deadline := time.Now().Add(30 * time.Second)
	for n := int64(1); len(missing[0])+len(missing[1]) > 0; n++ {
		if time.Now().After(deadline) {
			t.Fatalf("not received: %v", missing)
		}
		for _, b := range boards { // repeatedly: it is not known when the followers start
			top := &scoreboard.Top{
				Board: b, Epoch: 1, Version: n, UpdatedAt: time.Now(),
				Entries: []scoreboard.Entry{{Rank: 1, User: "alice", Score: 5}},
			}
			if err := notices.Announce(t.Context(), []scoreboard.Notice{{Board: b, Top: top}}); err != nil {
				t.Fatal(err)
			}
		}
		newer := transport.Message{Key: []byte("b1"), Value: []byte(`{"schema":99,"type":"leaderboard.notice"}`)}
		if _, err := producer.Produce(t.Context(), []transport.Message{newer}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		for i := range received {
			for len(received[i]) > 0 {
				delete(missing[i], <-received[i])
			}
		}
	}
	if err := <-malformed; !errors.Is(err, protocol.ErrNewerSchema) {
		t.Errorf("malformed notice: got %v, want a newer schema", err)
	}
}
