package kafka_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/transporttest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Six partitions of three leaders need three requests, wherever the partitions move.
func TestFetchSendsOneRequestToEachLeader(t *testing.T) {
	t.Parallel()
	p := newProducing(t)
	var requests, partial atomic.Int64
	p.cluster.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		p.cluster.KeepControl()
		requests.Add(1)
		if topics := request.(*kmsg.FetchRequest).Topics; len(topics) != 1 || len(topics[0].Partitions) != 2 {
			partial.Add(1)
		}
		return nil, nil, false
	})
	var mu sync.Mutex
	seen := map[string]bool{"first": true}
	handle := func(_ context.Context, records []scoreboard.Record) (map[int]int64, error) {
		mu.Lock()
		defer mu.Unlock()
		for _, r := range records {
			seen[string(r.Value)] = true
		}
		return nil, nil
	}
	transporttest.Consume(t, p.client.Consumer("events", "group", 100, transporttest.Quiet), handle)
	published := 0
	publish := func() {
		t.Helper()
		if n, err := p.producer.Produce(t.Context(), keyed(published, 100, 0)); n != 100 || err != nil {
			t.Fatal(n, err)
		}
		published += 100
		transporttest.Until(t, "delivered", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(seen) == published+1
		})
	}
	publish()
	if partial.Load() > 0 {
		t.Errorf("%d requests for other than the two partitions of a leader", partial.Load())
	}
	before, began := requests.Load(), time.Now()
	time.Sleep(3 * time.Second)
	if n, limit := requests.Load()-before, int64(3*(time.Since(began).Seconds()+1)); n < 3 || n > limit {
		t.Errorf("%d requests while nothing came, want 3 a second", n)
	}
	for move := range int32(3) {
		for partition := range int32(6) {
			if err := p.cluster.MoveTopicPartition("events", partition, (partition+move+1)%3); err != nil {
				t.Fatal(err)
			}
		}
		publish()
	}
}

// Each batch takes a page of memory until its response is read. Increments that are accepted for later, one
// at a time, are batches of one record.
func TestFetchOfTinyBatchesIsBounded(t *testing.T) {
	t.Parallel()
	const written, pages = 3000, 1024
	l := newOneLog(t, backends.Kafka(t), backends.Prefix(t))
	p := l.client.Producer(l.topic)
	t.Cleanup(func() { _ = p.Close() })
	var writers errgroup.Group
	writers.SetLimit(16)
	for i := range written {
		writers.Go(func() error {
			_, err := p.Produce(t.Context(), keyed(i, 1, 100))
			return err
		})
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	read := l.client.Reading(l.topic)
	for before := int64(0); before < written; {
		next, err := read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := next - before; n > pages {
			t.Errorf("one response has %d batches, want at most %d", n, pages)
		}
		before = next
	}
}

// Wherever the partition is in the response.
func TestFetchReportsEachPartitionsError(t *testing.T) {
	t.Parallel()
	p := newProducing(t)
	var from, beyond int64 = 0, 1000
	next := map[int]*int64{0: &beyond, 3: &from} // of one leader
	for _, order := range [][]int{{0, 3}, {3, 0}} {
		if err := p.client.FetchOnce(t.Context(), "events", next, order...); !errors.Is(err, kafkago.OffsetOutOfRange) {
			t.Errorf("order %v: got %v, want an offset out of range", order, err)
		}
	}
}

// The others are read, by a group that begins too.
func TestPartitionWithoutLeaderStopsNoOther(t *testing.T) {
	t.Parallel()
	p := newProducing(t)
	if n, err := p.producer.Produce(t.Context(), keyed(0, 100, 0)); n != 100 || err != nil {
		t.Fatal(n, err)
	}
	spans, err := p.client.Log("events").Ranges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want, got atomic.Int64
	for _, span := range spans[:5] {
		want.Add(span.End)
	}
	p.cluster.ControlKey(int16(kmsg.ListOffsets), func(request kmsg.Request) (kmsg.Response, error, bool) {
		p.cluster.KeepControl()
		asked := request.(*kmsg.ListOffsetsRequest)
		if asked.Topics[0].Partitions[0].Partition != 5 {
			return nil, nil, false
		}
		answer := asked.ResponseKind().(*kmsg.ListOffsetsResponse)
		topic, partition := kmsg.NewListOffsetsResponseTopic(), kmsg.NewListOffsetsResponseTopicPartition()
		topic.Topic, partition.Partition = "events", 5
		partition.ErrorCode = int16(kafkago.LeaderNotAvailable)
		topic.Partitions = append(topic.Partitions, partition)
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	handle := func(_ context.Context, records []scoreboard.Record) (map[int]int64, error) {
		for _, r := range records {
			if r.Partition != 5 {
				got.Add(1)
			}
		}
		return nil, nil
	}
	transporttest.Consume(t, p.client.Consumer("events", "group", 100, transporttest.Quiet), handle)
	transporttest.Until(t, "the other partitions delivered", func() bool { return got.Load() >= want.Load() })
}

// In the meantime a build that reads the partition may have consumed it further.
func TestPauseEndsWithTheGeneration(t *testing.T) {
	t.Parallel()
	p := newProducing(t)
	const partition = 2
	var readable atomic.Bool
	var delivered, pauses atomic.Int64
	handle := func(others *atomic.Int64) transport.Handler {
		return func(_ context.Context, records []scoreboard.Record) (map[int]int64, error) {
			for _, r := range records {
				switch {
				case r.Partition != partition:
					others.Add(1)
				case !readable.Load():
					pauses.Add(1)
					return map[int]int64{partition: r.Offset}, nil
				default:
					delivered.Add(1)
				}
			}
			return nil, nil
		}
	}
	var first, others atomic.Int64
	transporttest.Consume(t, p.client.Consumer("events", "group", 100, transporttest.Quiet), handle(&first))
	transporttest.Until(t, "the partition paused", func() bool { return pauses.Load() > 0 })
	stop := transporttest.Consume(t, p.client.Consumer("events", "group", 100, transporttest.Quiet), handle(&others))
	publish := func() { // as heartbeats come, so that no reader stalls
		t.Helper()
		if n, err := p.producer.Produce(t.Context(), keyed(0, 50, 0)); n != 50 || err != nil {
			t.Fatal(n, err)
		}
	}
	transporttest.Until(t, "both members read", func() bool {
		publish()
		return first.Load() > 0 && others.Load() > 0
	})
	readable.Store(true)
	stop()
	transporttest.Until(t, "the paused partition delivered", func() bool {
		publish()
		return delivered.Load() > 0
	})
}

// Compaction has left a batch with one record of five, at the end of a segment.
func TestFetchPassesCompactedBatch(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	cluster.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		asked := request.(*kmsg.FetchRequest)
		if asked.Topics[0].Partitions[0].FetchOffset >= 5 {
			return nil, nil, false
		}
		answer := asked.ResponseKind().(*kmsg.FetchResponse)
		topic, partition := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
		topic.Topic, topic.TopicID = asked.Topics[0].Topic, asked.Topics[0].TopicID
		partition.HighWatermark, partition.RecordBatches = 10, compacted()
		topic.Partitions = append(topic.Partitions, partition)
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	k := connect(t, cluster.ListenAddrs())
	if _, err := k.Ensure(t.Context(), kafka.Topic{
		Name: "events", Partitions: 1, Retention: time.Hour, Replicas: 1,
	}); err != nil {
		t.Fatal(err)
	}
	p := k.Producer("events")
	t.Cleanup(func() { _ = p.Close() })
	if n, err := p.Produce(t.Context(), keyed(0, 10, 0)); n != 10 || err != nil {
		t.Fatal(n, err)
	}
	span, err := k.Log("events").Ranges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var offsets []string
	if err := k.Log("events").Read(t.Context(), span[0], func(records []scoreboard.Record) error {
		for _, r := range records {
			offsets = append(offsets, fmt.Sprintf("%d=%s", r.Offset, r.Value))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{"2=kept", "5=000005", "6=000006", "7=000007", "8=000008", "9=000009"}
	if !slices.Equal(offsets, want) {
		t.Errorf("got %q, want %q", offsets, want)
	}
}

// compacted returns a batch from offset 0 to 4 with one record, at offset 2.
func compacted() []byte {
	r := kmsg.Record{OffsetDelta: 2, Value: []byte("kept")}
	r.Length = int32(len(r.AppendTo(nil)) - 1) // without the length itself
	batch := kmsg.RecordBatch{
		Magic: 2, LastOffsetDelta: 4, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: 1,
		PartitionLeaderEpoch: -1, Records: r.AppendTo(nil),
	}
	raw := batch.AppendTo(nil)
	const beforeCRC, afterCRC = 17, 21
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	sum := crc32.Checksum(raw[afterCRC:], crc32.MakeTable(crc32.Castagnoli))
	binary.BigEndian.PutUint32(raw[beforeCRC:], sum)
	return raw
}
