package broker_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/scoreboard/scoreboard/internal/backendtest"
	"github.com/scoreboard/scoreboard/server/broker"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestABrokerThatIsKilledLosesNothing(t *testing.T) {
	t.Parallel()
	server := backendtest.OwnKafka(t)
	way := overKafka(t, server.Brokers, "")
	s := newSeen()
	consume(t, way.source(), s.take)
	publish(t, way, events(0, 100))
	until(t, "the first handed over", func() bool { return s.count() == 100 })
	server.Kill()
	if n, err := way.Publish(ctx, events(100, 10)); err == nil || n == 10 {
		t.Errorf("published %d without a broker (%v)", n, err)
	} else if scoreboard.CodeOf(err) == scoreboard.CodePayloadTooLarge {
		t.Errorf("an outage reads as a refusal: %v", err)
	}
	server.Start()
	until(t, "published after the restart", func() bool {
		_, err := way.Publish(ctx, events(100, 100))
		return err == nil
	})
	until(t, "the rest handed over", func() bool { return s.count() == 200 })
}

func TestMembersComeAndGoAndEverythingIsHandled(t *testing.T) {
	t.Parallel()
	way := overKafka(t, backendtest.Kafka(t), backendtest.Prefix(t))
	s := newSeen()
	stop := consume(t, way.source(), s.take)
	publish(t, way, events(0, 100))
	until(t, "the first handed over", func() bool { return s.count() == 100 })
	consume(t, way.source(), s.take) // a rebalance
	for i := range 10 {
		publish(t, way, events(100+20*i, 20))
		time.Sleep(50 * time.Millisecond)
	}
	stop() // and another
	publish(t, way, events(300, 100))
	until(t, "all 400 handed over", func() bool { return s.count() == 400 })
}

func TestPartitionsThatAreAddedAreRead(t *testing.T) {
	t.Parallel()
	brokers, prefix := backendtest.Kafka(t), backendtest.Prefix(t)
	way := overKafka(t, brokers, prefix)
	s := newSeen()
	consume(t, way.source(), s.take)
	publish(t, way, events(0, 50))
	until(t, "the first handed over", func() bool { return s.count() == 50 })
	transport := &kafka.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := &kafka.Client{Addr: kafka.TCP(brokers...), Transport: transport}
	made, err := client.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{{Name: prefix + "events", Count: 8}}})
	if err != nil || made.Errors[prefix+"events"] != nil {
		t.Fatal(err, made)
	}
	time.Sleep(500 * time.Millisecond) // twice as long as the producer keeps its list of partitions
	publish(t, way, events(50, 200))
	until(t, "all 250 handed over", func() bool { return s.count() == 250 })
}

func TestAMessageThatIsTooLargeIsToldFromAnOutage(t *testing.T) {
	t.Parallel()
	brokers, prefix := backendtest.Kafka(t), backendtest.Prefix(t)
	transport := &kafka.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := &kafka.Client{Addr: kafka.TCP(brokers...), Transport: transport}
	topic := prefix + "narrow"
	made, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
		Topic: topic, NumPartitions: 1, ReplicationFactor: 1,
		ConfigEntries: []kafka.ConfigEntry{{ConfigName: "max.message.bytes", ConfigValue: "1000"}},
	}}})
	if err != nil || made.Errors[topic] != nil {
		t.Fatal(err, made)
	}
	p := connect(t, brokers).Producer(topic)
	t.Cleanup(func() { _ = p.Close() })
	noise := make([]byte, 3000) // that lz4 cannot shrink
	for i := range noise {
		noise[i] = byte(i*i>>3) ^ byte(i*7919>>5)
	}
	until(t, "the topic there", func() bool {
		_, err := p.Produce(ctx, []broker.Message{{Key: []byte("k"), Value: []byte("small")}})
		return err == nil
	})
	for name, value := range map[string][]byte{"by the broker": noise, "by the writer": bytes.Repeat([]byte("x"), 2<<20)} {
		n, err := p.Produce(ctx, []broker.Message{{Key: []byte("k"), Value: value}})
		if n != 0 || scoreboard.CodeOf(err) != scoreboard.CodePayloadTooLarge {
			t.Errorf("refused %s: %d acknowledged, %v; want payload_too_large", name, n, err)
		}
	}
}

// TestAReaderThatStandsStillIsMadeAnew has a broker that answers the fetches
// of the first reader with nothing, as if there were nothing.
func TestAReaderThatStandsStillIsMadeAnew(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	var deaf atomic.Bool
	deaf.Store(true)
	cluster.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if !deaf.Load() {
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
	if _, err := k.Ensure(ctx, broker.Topic{Name: "events", Partitions: 1, Retention: time.Hour, Replicas: 1}); err != nil {
		t.Fatal(err)
	}
	p := k.Producer("events")
	t.Cleanup(func() { _ = p.Close() })
	publish(t, broker.NewEvents(p), events(0, 10))
	c := k.Consumer("events", "group", 10, quiet).Watch(500 * time.Millisecond)
	s := newSeen()
	consume(t, c, s.take)
	until(t, "the reader made anew", func() bool { return stalls(t, c) > 0 })
	if got := s.count(); got > 0 {
		t.Fatalf("%d records came through a deaf broker", got)
	}
	deaf.Store(false)
	until(t, "everything handed over", func() bool { return s.count() == 10 })
	time.Sleep(600 * time.Millisecond)
	before := stalls(t, c)
	time.Sleep(1200 * time.Millisecond)
	if after := stalls(t, c); after != before {
		t.Errorf("an idle reader without a lag was made anew %v times", after-before)
	}
}

func stalls(t testing.TB, c *broker.Consumer) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Collectors()[1].(prometheus.Counter).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

func TestTopicsAreMadeAndTheirSettingsCompared(t *testing.T) {
	t.Parallel()
	backendtest.EachKafka(t, func(t *testing.T, brokers []string, prefix string) {
		k := connect(t, brokers)
		want := broker.Topic{Name: prefix + "notices", Partitions: 3, Retention: time.Hour, Cleanup: "compact,delete", Replicas: 1}
		for range 2 { // made, and found
			if others, err := k.Ensure(ctx, want); err != nil || len(others) > 0 {
				t.Fatalf("others %q, %v; want none", others, err)
			}
		}
		want.Retention, want.Cleanup = 2*time.Hour, ""
		others, err := k.Ensure(ctx, want)
		if err != nil || len(others) != 2 || !strings.Contains(others[0], "cleanup.policy") || !strings.Contains(others[1], "3600000") {
			t.Errorf("others %q, %v; want both settings", others, err)
		}
		want.Partitions = 4
		if _, err := k.Ensure(ctx, want); !errors.Is(err, broker.ErrTooFewPartitions) {
			t.Errorf("too few partitions: %v", err)
		}
		// What was announced comes back, keyed by its board, over each codec.
		for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
			k := broker.NewKafka(broker.KafkaOptions{
				Brokers: brokers, Linger: time.Millisecond, Timeout: 3 * time.Second, Compression: codec, Acks: "one",
			})
			t.Cleanup(k.Close)
			p := k.Producer(want.Name)
			t.Cleanup(func() { _ = p.Close() })
			notice := scoreboard.Notice{Board: scoreboard.BoardID(codec), Top: &scoreboard.Top{Board: scoreboard.BoardID(codec), Epoch: 1, Version: 1}}
			if err := broker.NewNotices(p).Announce(ctx, []scoreboard.Notice{notice}); err != nil {
				t.Errorf("%s: %v", codec, err)
			}
		}
		var mu sync.Mutex
		got := map[string]bool{}
		consume(t, k.Consumer(want.Name, prefix+"followers", 10, quiet), func(_ context.Context, records []broker.Record) (map[int]int64, error) {
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
		})
		until(t, "all five read", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(got) == 5
		})
	})
}
