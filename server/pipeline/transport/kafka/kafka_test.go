package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/transporttest"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestMain(m *testing.M) { backends.Main(m) }

func TestTransport(t *testing.T) {
	t.Parallel()
	backends.EachKafka(t, func(t *testing.T, brokers []string, prefix string) {
		var n atomic.Int64
		newRig := func(t *testing.T) transporttest.Rig {
			return newRig(t, brokers, prefix+strconv.FormatInt(n.Add(1), 10)+"-")
		}
		transporttest.TestDelivery(t, newRig)
		transporttest.TestGroups(t, newRig)
	})
}

// newRig creates a topic with four partitions.
func newRig(t testing.TB, brokers []string, prefix string) transporttest.Rig {
	t.Helper()
	c := connect(t, brokers)
	topic := prefix + "events"
	settings := kafka.Topic{Name: topic, Partitions: 4, Retention: time.Hour, Replicas: 1}
	if _, err := c.Ensure(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	p := c.Producer(topic)
	t.Cleanup(func() { _ = p.Close() })
	newConsumer := func() transport.Consumer { return c.Consumer(topic, prefix+"group", 50, transporttest.Quiet) }
	transporttest.Until(t, "a leader for every partition", func() bool {
		_, err := newConsumer().MeasureLag(t.Context())
		return err == nil
	})
	return transporttest.New(p, newConsumer)
}

func connect(t testing.TB, brokers []string) *kafka.Client {
	t.Helper()
	c := kafka.New(kafka.Options{
		Brokers: brokers, Timeout: 3 * time.Second, Compression: "lz4", Acks: "all",
	})
	t.Cleanup(c.Close)
	return c
}

// The kernel takes connections for a process that is stopped.
func TestSilentBrokerStopsNoConsumer(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	p := newProducing(t)
	if n, err := p.producer.Produce(t.Context(), keyed(0, 100, 0)); n != 100 || err != nil {
		t.Fatal(n, err)
	}
	k := connect(t, append([]string{silent.Addr().String()}, p.cluster.ListenAddrs()...))
	var handled atomic.Int64
	handle := func(_ context.Context, records []scoreboard.Record) (map[int]int64, error) {
		handled.Add(int64(len(records)))
		return nil, nil
	}
	transporttest.Consume(t, k.Consumer("events", "group", 100, transporttest.Quiet), handle)
	transporttest.Until(t, "delivered", func() bool { return handled.Load() >= 100 })
}

func TestKilledBrokerLosesNothing(t *testing.T) {
	t.Parallel()
	server := backends.OwnKafka(t)
	rig := newRig(t, server.Brokers, "")
	got := transporttest.NewReceived()
	transporttest.Consume(t, rig.Consumer(), got.Handle)
	transporttest.Publish(t, rig, transporttest.Events(0, 100))
	transporttest.Until(t, "the first records delivered", func() bool { return got.Users() == 100 })
	server.Kill()
	if n, err := rig.Publish(t.Context(), transporttest.Events(100, 10)); err == nil || n == 10 {
		t.Errorf("published %d without a broker (%v)", n, err)
	} else if wire.CodeOf(err) == wire.CodePayloadTooLarge {
		t.Errorf("an outage has the code of a rejected message: %v", err)
	}
	server.Start()
	transporttest.Until(t, "published after the restart", func() bool {
		_, err := rig.Publish(t.Context(), transporttest.Events(100, 100))
		return err == nil
	})
	transporttest.Until(t, "the rest delivered", func() bool { return got.Users() == 200 })
}

func TestRebalancesLoseNothing(t *testing.T) {
	t.Parallel()
	backends.EachKafka(t, rebalancesLoseNothing)
}

func rebalancesLoseNothing(t *testing.T, brokers []string, prefix string) {
	rig := newRig(t, brokers, prefix)
	got := transporttest.NewReceived()
	stop := transporttest.Consume(t, rig.Consumer(), got.Handle)
	transporttest.Publish(t, rig, transporttest.Events(0, 100))
	transporttest.Until(t, "the first records delivered", func() bool { return got.Users() == 100 })
	transporttest.Consume(t, rig.Consumer(), got.Handle) // a rebalance
	for i := range 10 {
		transporttest.Publish(t, rig, transporttest.Events(100+20*i, 20))
		time.Sleep(50 * time.Millisecond)
	}
	stop() // and another
	transporttest.Publish(t, rig, transporttest.Events(300, 100))
	transporttest.Until(t, "all 400 delivered", func() bool { return got.Users() == 400 })
}

func TestAddedPartitionsAreConsumed(t *testing.T) {
	t.Parallel()
	backends.EachKafka(t, addedPartitionsAreConsumed)
}

func addedPartitionsAreConsumed(t *testing.T, brokers []string, prefix string) {
	rig := newRig(t, brokers, prefix)
	got := transporttest.NewReceived()
	transporttest.Consume(t, rig.Consumer(), got.Handle)
	transporttest.Publish(t, rig, transporttest.Events(0, 50))
	transporttest.Until(t, "the first records delivered", func() bool { return got.Users() == 50 })
	kafkaTransport := &kafkago.Transport{}
	t.Cleanup(kafkaTransport.CloseIdleConnections)
	client := &kafkago.Client{Addr: kafkago.TCP(brokers...), Transport: kafkaTransport}
	created, err := client.CreatePartitions(t.Context(), &kafkago.CreatePartitionsRequest{
		Topics: []kafkago.TopicPartitionsConfig{{Name: prefix + "events", Count: 8}},
	})
	if err != nil || created.Errors[prefix+"events"] != nil {
		t.Fatal(err, created)
	}
	time.Sleep(1100 * time.Millisecond) // longer than the producer keeps its list of partitions
	transporttest.Publish(t, rig, transporttest.Events(50, 200))
	transporttest.Until(t, "all 250 delivered", func() bool { return got.Users() == 250 })
}

func TestTooLargeMessageIsNotAnOutage(t *testing.T) {
	t.Parallel()
	backends.EachKafka(t, tooLargeMessageIsNotAnOutage)
}

func tooLargeMessageIsNotAnOutage(t *testing.T, brokers []string, prefix string) {
	kafkaTransport := &kafkago.Transport{}
	t.Cleanup(kafkaTransport.CloseIdleConnections)
	client := &kafkago.Client{Addr: kafkago.TCP(brokers...), Transport: kafkaTransport}
	topic := prefix + "small-messages"
	created, err := client.CreateTopics(t.Context(), &kafkago.CreateTopicsRequest{Topics: []kafkago.TopicConfig{{
		Topic: topic, NumPartitions: 1, ReplicationFactor: 1,
		ConfigEntries: []kafkago.ConfigEntry{{ConfigName: "max.message.bytes", ConfigValue: "1000"}},
	}}})
	if err != nil || created.Errors[topic] != nil {
		t.Fatal(err, created)
	}
	p := connect(t, brokers).Producer(topic)
	t.Cleanup(func() { _ = p.Close() })
	noise := make([]byte, 3000) // lz4 cannot compress it
	for i := range noise {
		noise[i] = byte(i*i>>3) ^ byte(i*7919>>5)
	}
	transporttest.Until(t, "the topic created", func() bool {
		_, err := p.Produce(t.Context(), []transport.Message{{Key: []byte("k"), Value: []byte("small")}})
		return err == nil
	})
	for name, value := range map[string][]byte{
		"as it is": noise, "as it is compressed": bytes.Repeat([]byte("x"), 2<<20),
	} {
		n, err := p.Produce(t.Context(), []transport.Message{{Key: []byte("k"), Value: value}})
		if n != 0 || wire.CodeOf(err) != wire.CodePayloadTooLarge {
			t.Errorf("too large %s: %d acknowledged, %v; want payload_too_large", name, n, err)
		}
	}
}

// The broker answers every fetch of the first reader with no records.
func TestStalledReaderIsReplaced(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	var ignoreFetches atomic.Bool
	ignoreFetches.Store(true)
	cluster.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if !ignoreFetches.Load() {
			return nil, nil, false
		}
		time.Sleep(20 * time.Millisecond)
		asked := request.(*kmsg.FetchRequest)
		answer := asked.ResponseKind().(*kmsg.FetchResponse)
		for _, t := range asked.Topics {
			topic := kmsg.NewFetchResponseTopic()
			topic.Topic, topic.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				partition := kmsg.NewFetchResponseTopicPartition()
				partition.Partition = p.Partition
				topic.Partitions = append(topic.Partitions, partition)
			}
			answer.Topics = append(answer.Topics, topic)
		}
		return answer, nil, true
	})
	k := connect(t, cluster.ListenAddrs())
	topic := kafka.Topic{Name: "events", Partitions: 1, Retention: time.Hour, Replicas: 1}
	if _, err := k.Ensure(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	p := k.Producer("events")
	t.Cleanup(func() { _ = p.Close() })
	transporttest.Publish(t, transport.NewEvents(p), transporttest.Events(0, 10))
	c := k.Consumer("events", "group", 10, transporttest.Quiet).CheckEvery(500 * time.Millisecond)
	got := transporttest.NewReceived()
	transporttest.Consume(t, c, got.Handle)
	transporttest.Until(t, "the reader replaced", func() bool { return stalls(t, c) > 0 })
	if got := got.Users(); got > 0 {
		t.Fatalf("%d records arrived from a broker that ignores fetches", got)
	}
	ignoreFetches.Store(false)
	transporttest.Until(t, "everything delivered", func() bool { return got.Users() == 10 })
	time.Sleep(600 * time.Millisecond)
	before := stalls(t, c)
	time.Sleep(1200 * time.Millisecond)
	if after := stalls(t, c); after != before {
		t.Errorf("an idle reader without a lag was replaced %v times", after-before)
	}
}

func stalls(t testing.TB, c *kafka.Consumer) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Collectors()[1].(prometheus.Counter).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

func TestTopicsAreCreatedAndCompared(t *testing.T) {
	t.Parallel()
	backends.EachKafka(t, func(t *testing.T, brokers []string, prefix string) {
		k := connect(t, brokers)
		want := kafka.Topic{
			Name: prefix + "notices", Partitions: 3, Retention: time.Hour, Cleanup: "compact,delete", Replicas: 1,
		}
		for range 2 { // created, then found
			if differences, err := k.Ensure(t.Context(), want); err != nil || len(differences) > 0 {
				t.Fatalf("differences %q, %v; want none", differences, err)
			}
		}
		want.Retention, want.Cleanup = 2*time.Hour, ""
		differences, err := k.Ensure(t.Context(), want)
		if err != nil || len(differences) != 2 ||
			!strings.Contains(differences[0], "cleanup.policy") || !strings.Contains(differences[1], "3600000") {
			t.Errorf("differences %q, %v; want both settings", differences, err)
		}
		want.Partitions = 4
		if _, err := k.Ensure(t.Context(), want); !errors.Is(err, kafka.ErrTooFewPartitions) {
			t.Errorf("4 partitions wanted of 3: got %v, want ErrTooFewPartitions", err)
		}
		// Every codec carries notices, keyed by board.
		for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
			k := kafka.New(kafka.Options{
				Brokers: brokers, Timeout: 3 * time.Second, Compression: codec, Acks: "one",
			})
			t.Cleanup(k.Close)
			p := k.Producer(want.Name)
			t.Cleanup(func() { _ = p.Close() })
			board := scoreboard.BoardID(codec)
			large := []scoreboard.Entry{{User: scoreboard.UserID(strings.Repeat("u", 2000))}} // enough to compress
			top := &scoreboard.Top{Board: board, Epoch: 1, Version: 1, Entries: large}
			notice := scoreboard.Notice{Board: board, Top: top}
			if err := transport.NewNotices(p).Announce(t.Context(), []scoreboard.Notice{notice}); err != nil {
				t.Errorf("%s: %v", codec, err)
			}
		}
		var mu sync.Mutex
		got := map[string]bool{}
		consumer := k.Consumer(want.Name, prefix+"followers", 10, transporttest.Quiet)
		handle := func(_ context.Context, records []scoreboard.Record) (map[int]int64, error) {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range records {
				n, err := protocol.DecodeNotice(r.Value)
				if err != nil || string(r.Key) != string(n.Board) {
					t.Errorf("key %s, notice %+v, %v", r.Key, n, err)
				}
				got[string(r.Key)] = true
			}
			return nil, nil
		}
		transporttest.Consume(t, consumer, handle)
		transporttest.Until(t, "all five delivered", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(got) == 5
		})
	})
}
