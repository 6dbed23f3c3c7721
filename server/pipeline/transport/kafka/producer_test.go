package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/transporttest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// producing is a topic of six partitions over three brokers.
type producing struct {
	cluster  *kfake.Cluster
	client   *kafka.Client
	producer *kafka.Producer
	requests atomic.Int64 // to produce
	reject   atomic.Pointer[func(partition int32, size int) int16]
}

func newProducing(t *testing.T) *producing {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	p := &producing{cluster: cluster}
	cluster.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		p.requests.Add(1)
		return p.answer(request.(*kmsg.ProduceRequest))
	})
	p.client = connect(t, cluster.ListenAddrs())
	topic := kafka.Topic{Name: "events", Partitions: 6, Retention: time.Hour, Replicas: 1}
	if _, err := p.client.Ensure(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	for partition := range int32(6) {
		if err := cluster.MoveTopicPartition("events", partition, partition%3); err != nil {
			t.Fatal(err)
		}
	}
	p.producer = p.client.Producer("events")
	t.Cleanup(func() { _ = p.producer.Close() })
	transporttest.Until(t, "a leader for every partition", func() bool {
		return p.producer.Broadcast(t.Context(), []byte("key"), []byte("first")) == nil
	})
	p.requests.Store(0)
	return p
}

// answer rejects a request in which one partition is rejected, without writing anything:
// the other partitions lack replicas.
func (p *producing) answer(request *kmsg.ProduceRequest) (kmsg.Response, error, bool) {
	reject := p.reject.Load()
	if reject == nil {
		return nil, nil, false
	}
	var rejected bool
	answer := request.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range request.Topics {
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic = t.Topic
		for i := range t.Partitions {
			partition := kmsg.NewProduceResponseTopicPartition()
			partition.Partition = t.Partitions[i].Partition
			partition.ErrorCode = (*reject)(partition.Partition, len(t.Partitions[i].Records))
			rejected = rejected || partition.ErrorCode != 0
			topic.Partitions = append(topic.Partitions, partition)
		}
		for i := range topic.Partitions {
			if p := &topic.Partitions[i]; rejected && p.ErrorCode == 0 {
				p.ErrorCode = kerr.NotEnoughReplicas.Code
			}
		}
		answer.Topics = append(answer.Topics, topic)
	}
	return answer, nil, rejected
}

// read returns the values of the topic by key, in the order of the log, once it has read
// that many different ones.
func (p *producing) read(t *testing.T, different int) map[string][]string {
	t.Helper()
	var mu sync.Mutex
	got, seen := map[string][]string{}, map[string]bool{}
	handle := func(_ context.Context, records []scoreboard.Record) (map[int]int64, error) {
		mu.Lock()
		defer mu.Unlock()
		for _, r := range records {
			if string(r.Value) != "first" {
				got[string(r.Key)] = append(got[string(r.Key)], string(r.Value))
				seen[string(r.Value)] = true
			}
		}
		return nil, nil
	}
	transporttest.Consume(t, p.client.Consumer("events", "group", 1000, transporttest.Quiet), handle)
	transporttest.Until(t, fmt.Sprintf("%d different records", different), func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen) >= different
	})
	return got
}

// keyed returns messages of 20 keys in turn, with values that count.
func keyed(from, n, size int) []transport.Message {
	messages := make([]transport.Message, n)
	for i := range messages {
		value := fmt.Appendf(nil, "%0*d", max(size, 6), from+i)
		messages[i] = transport.Message{Key: fmt.Appendf(nil, "key%d", (from+i)%20), Value: value}
	}
	return messages
}

// A small batch saves little if it is compressed, and costs both sides.
func TestSmallBatchesAreNotCompressed(t *testing.T) {
	t.Parallel()
	p := newProducing(t)
	var sent atomic.Int64
	accept := func(_ int32, size int) int16 { sent.Store(int64(size)); return 0 }
	p.reject.Store(&accept)
	for _, tt := range []struct{ value, least, most int64 }{{500, 500, 700}, {2000, 1, 300}} {
		m := transport.Message{Key: []byte("key"), Value: bytes.Repeat([]byte("x"), int(tt.value))}
		if _, err := p.producer.Produce(t.Context(), []transport.Message{m}); err != nil {
			t.Fatal(err)
		}
		if n := sent.Load(); n < tt.least || n > tt.most {
			t.Errorf("a value of %d bytes was sent in a batch of %d, want %d to %d", tt.value, n, tt.least, tt.most)
		}
	}
}

func TestProduceSendsOneRequestToEachLeader(t *testing.T) {
	t.Parallel()
	p := newProducing(t)
	if n, err := p.producer.Produce(t.Context(), keyed(0, 200, 0)); n != 200 || err != nil {
		t.Fatal(n, err)
	}
	if got := p.requests.Load(); got != 3 {
		t.Errorf("%d requests for 6 partitions of 3 leaders", got)
	}
	checkOrder(t, p.read(t, 200), 200)
}

func checkOrder(t *testing.T, got map[string][]string, total int) {
	t.Helper()
	n := 0
	for key, values := range got {
		for i, v := range values {
			n++
			if i > 0 && v <= values[i-1] {
				t.Fatalf("%s: %s after %s", key, v, values[i-1])
			}
		}
	}
	if n != total {
		t.Errorf("%d records, want %d", n, total)
	}
}

// More than fits a batch of a partition is written in several requests, in order.
func TestProduceSplitsLargeBatches(t *testing.T) {
	t.Parallel()
	p := newProducing(t)
	messages := keyed(0, 60, 200_000)
	for i := range messages {
		messages[i].Key = []byte("one")
	}
	largest := 0
	reject := func(_ int32, size int) int16 {
		largest = max(largest, size)
		return 0
	}
	p.reject.Store(&reject)
	if n, err := p.producer.Produce(t.Context(), messages); n != 60 || err != nil {
		t.Fatal(n, err)
	}
	if got := p.requests.Load(); got != 15 || largest > 1_000_000 {
		t.Errorf("%d requests of up to %d bytes, want 15 of up to a megabyte", got, largest)
	}
	checkOrder(t, p.read(t, 60), 60)
}

// A leader moves: the former one rejects, the new one is asked after its metadata is read, in the
// same call, or on a busy machine in one of the next, as the relay makes them.
func TestProduceFollowsTheLeader(t *testing.T) {
	t.Parallel()
	p := newProducing(t)
	for move := range 3 {
		for partition := range int32(6) {
			if err := p.cluster.MoveTopicPartition("events", partition, (partition+int32(move)+1)%3); err != nil {
				t.Fatal(err)
			}
		}
		rest := keyed(100*move, 100, 0)
		for call := 1; len(rest) > 0; call++ {
			n, err := p.producer.Produce(t.Context(), rest)
			if rest = rest[n:]; len(rest) > 0 && (call == 5 || !errors.Is(err, kafkago.NotLeaderForPartition)) {
				t.Fatalf("move %d, call %d: %d are left, %v", move, call, len(rest), err)
			}
		}
	}
	got := p.read(t, 300)
	for key, values := range got { // a call after a partial one writes some again
		seen := map[string]bool{}
		got[key] = slices.DeleteFunc(values, func(v string) bool {
			again := seen[v]
			seen[v] = true
			return again
		})
	}
	checkOrder(t, got, 300)
}

// Two partitions of one leader reject: what is acknowledged are the messages before the
// first one of either, and the error is that of its partition.
func TestProduceReportsTheFirstFailure(t *testing.T) {
	t.Parallel()
	p := newProducing(t)
	var hash kafkago.Hash
	codes := map[wire.Code]bool{}
	for first := range 20 { // the key of the first message
		reject := func(partition int32, _ int) int16 {
			if partition == 4 {
				return kerr.MessageTooLarge.Code
			}
			return 0
		}
		p.reject.Store(&reject)
		messages := keyed(100*first+first, 99, 0)
		n, err := p.producer.Produce(t.Context(), messages)
		p.reject.Store(nil)
		if err == nil {
			t.Fatal("no error")
		}
		for i := range messages[:n+1] {
			partition := hash.Balance(kafkago.Message{Key: messages[i].Key}, 0, 1, 2, 3, 4, 5)
			if rejected := partition%3 == 1; rejected != (i == n) {
				t.Fatalf("%d acknowledged, and message %d is for partition %d", n, i, partition)
			}
			if code := wire.CodeOf(err); i == n && (code == wire.CodePayloadTooLarge) != (partition == 4) {
				t.Fatalf("partition %d: %v", partition, err)
			}
		}
		codes[wire.CodeOf(err)] = true
		if rest, err := p.producer.Produce(t.Context(), messages[n:]); rest != len(messages)-n || err != nil {
			t.Fatal(rest, err)
		}
	}
	if len(codes) != 2 {
		t.Errorf("codes %v, want both", codes)
	}
	p.read(t, 20*99)
}
