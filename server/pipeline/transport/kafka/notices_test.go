package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Every follower receives the notices of all partitions from the time it starts.
// A notice that cannot be decoded does not delay the others.
func TestNoticesReachEveryFollower(t *testing.T) {
	t.Parallel()
	backends.EachKafka(t, noticesReachEveryFollower)
}

func noticesReachEveryFollower(t *testing.T, brokers []string, prefix string) {
	k := kafka.New(kafka.Options{Brokers: brokers, Timeout: 10 * time.Second})
	t.Cleanup(k.Close)
	topic := prefix + "notices"
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

// A follower receives the notices of partitions that are added while it follows.
func TestNoticesOfAddedPartitions(t *testing.T) {
	t.Parallel()
	backends.EachKafka(t, noticesOfAddedPartitions)
}

func noticesOfAddedPartitions(t *testing.T, brokers []string, prefix string) {
	k := kafka.New(kafka.Options{Brokers: brokers, Timeout: 10 * time.Second})
	t.Cleanup(k.Close)
	topic := prefix + "notices"
	settings := kafka.Topic{Name: topic, Partitions: 1, Retention: time.Hour, Cleanup: "compact", Replicas: -1}
	if _, err := k.Ensure(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	received := make(chan scoreboard.BoardID, 100_000)
	all.Go(func() {
		do := func(n scoreboard.Notice) { received <- n.Board }
		_ = k.Notices(topic).Follow(ctx, do, func(err error) { t.Error(err) })
	})
	producer := k.Producer(topic)
	t.Cleanup(func() { _ = producer.Close() })
	notices := transport.NewNotices(producer)
	announce := func(board scoreboard.BoardID, version int64) {
		t.Helper()
		top := &scoreboard.Top{
			Board: board, Epoch: 1, Version: version, UpdatedAt: time.Now(),
			Entries: []scoreboard.Entry{{Rank: 1, User: "alice", Score: 5}},
		}
		if err := notices.Announce(t.Context(), []scoreboard.Notice{{Board: board, Top: top}}); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(30 * time.Second)
	for n := int64(1); len(received) == 0; n++ { // it follows the one partition
		if announce("first", n); time.Now().After(deadline) {
			t.Fatal("nothing was received")
		}
		time.Sleep(50 * time.Millisecond)
	}
	kafkaTransport := &kafkago.Transport{}
	t.Cleanup(kafkaTransport.CloseIdleConnections)
	client := &kafkago.Client{Addr: kafkago.TCP(brokers...), Transport: kafkaTransport}
	created, err := client.CreatePartitions(t.Context(), &kafkago.CreatePartitionsRequest{
		Topics: []kafkago.TopicPartitionsConfig{{Name: topic, Count: 8}},
	})
	if err != nil || created.Errors[topic] != nil {
		t.Fatal(err, created)
	}
	// A producer of another client knows the new partitions at once.
	other := kafka.New(kafka.Options{Brokers: brokers, Timeout: 10 * time.Second})
	t.Cleanup(other.Close)
	fresh := other.Producer(topic)
	t.Cleanup(func() { _ = fresh.Close() })
	notices = transport.NewNotices(fresh)
	missing := map[scoreboard.BoardID]bool{}
	for i := range 32 { // of all partitions
		missing[scoreboard.BoardID(fmt.Sprint("board", i))] = true
	}
	for n := int64(1); len(missing) > 0; n++ {
		if time.Now().After(deadline) {
			t.Fatalf("not received: %v", missing)
		}
		for b := range missing {
			announce(b, n)
		}
		time.Sleep(100 * time.Millisecond)
		for len(received) > 0 {
			delete(missing, <-received)
		}
	}
}
