package kafka_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/pipeline/transport"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/kafka"
	"github.com/scoreboard/scoreboard/server/pipeline/transport/transporttest"
)

// damages collects what a consumer reports.
type damages struct {
	mu  sync.Mutex
	all []*kafka.Damage
}

func (d *damages) add(_ context.Context, found *kafka.Damage) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, found)
	return nil
}

func (d *damages) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.all)
}

// oneLog is a topic with one partition, and its consumers.
type oneLog struct {
	client *kafka.Client
	admin  *kafkago.Client
	topic  string
	group  string
	events *transport.Events
	damages
}

func newOneLog(t *testing.T, brokers []string, prefix string) *oneLog {
	t.Helper()
	l := &oneLog{client: connect(t, brokers), topic: prefix + "events", group: prefix + "group"}
	kafkaTransport := &kafkago.Transport{MetadataTTL: 100 * time.Millisecond}
	t.Cleanup(kafkaTransport.CloseIdleConnections)
	l.admin = &kafkago.Client{Addr: kafkago.TCP(brokers...), Transport: kafkaTransport}
	l.create(t)
	p := l.client.Producer(l.topic)
	t.Cleanup(func() { _ = p.Close() })
	l.events = transport.NewEvents(p)
	return l
}

func (l *oneLog) create(t *testing.T) {
	t.Helper()
	topic := kafka.Topic{Name: l.topic, Partitions: 1, Retention: time.Hour, Replicas: 1}
	transporttest.Until(t, "the topic created", func() bool {
		_, err := l.client.Ensure(t.Context(), topic)
		return err == nil
	})
}

// publish publishes changes of users, and tries again while the topic is being made.
func (l *oneLog) publish(t *testing.T, from, n int) {
	t.Helper()
	transporttest.Until(t, "published", func() bool {
		done, err := l.events.Publish(t.Context(), transporttest.Events(from, n))
		return err == nil && done == n
	})
}

func (l *oneLog) consumer() *kafka.Consumer {
	c := l.client.Consumer(l.topic, l.group, 50, transporttest.Quiet).CheckEvery(500 * time.Millisecond)
	c.OnDamage(l.add)
	return c
}

func (l *oneLog) committed(t *testing.T) int64 {
	t.Helper()
	got, err := l.admin.OffsetFetch(t.Context(), &kafkago.OffsetFetchRequest{
		GroupID: l.group, Topics: map[string][]int{l.topic: {0}},
	})
	if err != nil || len(got.Topics[l.topic]) != 1 {
		return -1
	}
	return got.Topics[l.topic][0].CommittedOffset
}

// The group has committed more than the log holds: a broker was restored from an old
// copy, or an election was unclean. What was written since is delivered, and also
// what the group may have missed below its offset.
func TestOffsetBeyondTheEnd(t *testing.T) {
	t.Parallel()
	backends.EachKafka(t, func(t *testing.T, brokers []string, prefix string) {
		l := newOneLog(t, brokers, prefix)
		l.publish(t, 0, 30)
		transporttest.Until(t, "the offset committed", func() bool {
			got, err := l.admin.OffsetCommit(t.Context(), &kafkago.OffsetCommitRequest{
				GroupID: l.group, GenerationID: -1,
				Topics: map[string][]kafkago.OffsetCommit{l.topic: {{Partition: 0, Offset: 316}}},
			})
			return err == nil && got.Topics[l.topic][0].Error == nil && l.committed(t) == 316
		})
		c := l.consumer()
		if n, err := c.MeasureLag(t.Context()); err != nil || n != 30 {
			t.Errorf("the lag is %d, %v, want all 30 records", n, err)
		}
		got := transporttest.NewReceived()
		transporttest.Consume(t, c, got.Handle)
		transporttest.Until(t, "the retained records delivered", func() bool { return got.Users() == 30 })
		l.publish(t, 30, 20)
		transporttest.Until(t, "new records delivered", func() bool { return got.Users() == 50 })
		if s := c.Status(); l.count() != 1 || s.Damages != 1 || s.Damaged.IsZero() {
			t.Errorf("%d reports, status %+v, want one", l.count(), s)
		}
		transporttest.Until(t, "the offset committed", func() bool { return l.committed(t) == 50 })
	})
}

// The topic is deleted and created again while two members run, and holds more
// records soon than the group had consumed.
func TestReplacedTopicIsReadFromItsStart(t *testing.T) {
	t.Parallel()
	backends.EachKafka(t, func(t *testing.T, brokers []string, prefix string) {
		l := newOneLog(t, brokers, prefix)
		l.publish(t, 0, 20)
		got := transporttest.NewReceived()
		members := []*kafka.Consumer{l.consumer(), l.consumer()}
		for _, c := range members {
			transporttest.Consume(t, c, got.Handle)
		}
		transporttest.Until(t, "the first records delivered", func() bool { return got.Users() == 20 })
		transporttest.Until(t, "the offset committed", func() bool { return l.committed(t) == 20 })
		for _, c := range members {
			transporttest.Until(t, "the topic known", func() bool { return c.Intact(t.Context()) })
		}
		deleted, err := l.admin.DeleteTopics(t.Context(), &kafkago.DeleteTopicsRequest{Topics: []string{l.topic}})
		if err != nil || deleted.Errors[l.topic] != nil {
			t.Fatal(err, deleted)
		}
		transporttest.Until(t, "the topic deleted", func() bool {
			m, err := l.admin.Metadata(t.Context(), &kafkago.MetadataRequest{Topics: []string{l.topic}})
			return err == nil && errors.Is(m.Topics[0].Error, kafkago.UnknownTopicOrPartition)
		})
		l.create(t)
		for i, c := range members {
			if c.Intact(t.Context()) {
				t.Errorf("member %d takes the new topic for the old one", i)
			}
		}
		l.publish(t, 20, 60)
		transporttest.Until(t, "all records of the new topic delivered", func() bool { return got.Users() == 80 })
		if l.count() == 0 {
			t.Error("the new topic was not reported")
		}
	})
}

// The broker deletes records that the group has not consumed.
func TestUnconsumedRecordsDeleted(t *testing.T) {
	t.Parallel()
	backends.EachKafka(t, func(t *testing.T, brokers []string, prefix string) {
		l := newOneLog(t, brokers, prefix)
		l.publish(t, 0, 10)
		got := transporttest.NewReceived()
		stop := transporttest.Consume(t, l.consumer(), got.Handle)
		transporttest.Until(t, "the first records delivered", func() bool { return got.Users() == 10 })
		stop()
		transporttest.Until(t, "the offset committed", func() bool { return l.committed(t) == 10 })
		l.publish(t, 10, 30)
		partition := kmsg.NewDeleteRecordsRequestTopicPartition()
		partition.Offset = 25
		topic := kmsg.NewDeleteRecordsRequestTopic()
		topic.Topic, topic.Partitions = l.topic, []kmsg.DeleteRecordsRequestTopicPartition{partition}
		request := kmsg.NewPtrDeleteRecordsRequest()
		request.Topics, request.TimeoutMillis = []kmsg.DeleteRecordsRequestTopic{topic}, 5000
		answer := ask(t, brokers[0], request).(*kmsg.DeleteRecordsResponse)
		if code := answer.Topics[0].Partitions[0].ErrorCode; code != 0 {
			t.Fatalf("delete records: error %d", code)
		}
		c := l.consumer()
		transporttest.Consume(t, c, got.Handle)
		transporttest.Until(t, "the retained records delivered", func() bool { return got.Users() == 25 })
		transporttest.Until(t, "the loss counted", func() bool { return c.Status().Lost == 15 })
		if l.count() != 1 {
			t.Errorf("%d reports, want one", l.count())
		}
	})
}

// ask sends a request, in version 0, over a connection of its own.
func ask(t *testing.T, broker string, request kmsg.Request) kmsg.Response {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", broker)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, request, 1)); err != nil {
		t.Fatal(err)
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(conn, body); err != nil {
		t.Fatal(err)
	}
	answer := request.ResponseKind()
	if err := answer.ReadFrom(body[4:]); err != nil {
		t.Fatal(err)
	}
	return answer
}

// AwaitConsumed returns when what was published before is committed, and not before.
func TestAwaitConsumed(t *testing.T) {
	t.Parallel()
	backends.EachKafka(t, func(t *testing.T, brokers []string, prefix string) {
		l := newOneLog(t, brokers, prefix)
		c := l.consumer()
		if err := c.AwaitConsumed(t.Context()); err != nil {
			t.Errorf("an empty topic: %v", err)
		}
		l.publish(t, 0, 10)
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := c.AwaitConsumed(short); err == nil {
			t.Error("10 records are not consumed, and it returned")
		}
		got := transporttest.NewReceived()
		transporttest.Consume(t, l.consumer(), got.Handle)
		if err := c.AwaitConsumed(t.Context()); err != nil || got.Users() != 10 {
			t.Errorf("consumed: %v after %d records, want 10", err, got.Users())
		}
	})
}

// A group's coordinator that moves delays AwaitConsumed.
func TestAwaitConsumedWaitsForACoordinator(t *testing.T) {
	t.Parallel()
	p := newProducing(t)
	p.read(t, 0) // a member, which consumes what there is
	c := p.client.Consumer("events", "group", 1, transporttest.Quiet)
	transporttest.Until(t, "consumed", func() bool {
		n, err := c.MeasureLag(t.Context())
		return err == nil && n == 0
	})
	var requests atomic.Int64
	p.cluster.ControlKey(int16(kmsg.OffsetFetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		p.cluster.KeepControl()
		if requests.Add(1) > 3 {
			return nil, nil, false
		}
		answer := request.ResponseKind().(*kmsg.OffsetFetchResponse)
		answer.ErrorCode = kerr.NotCoordinator.Code
		return answer, nil, true
	})
	if err := c.AwaitConsumed(t.Context()); err != nil {
		t.Error(err)
	}
}

// On a new topic the first records are taken at once.
func TestEnsuredTopicsTakeRecordsAtOnce(t *testing.T) {
	t.Parallel()
	backends.EachKafka(t, ensuredTopicsTakeRecordsAtOnce)
}

func ensuredTopicsTakeRecordsAtOnce(t *testing.T, brokers []string, prefix string) {
	k := connect(t, brokers)
	var topics []kafka.Topic
	for i := range 6 {
		topics = append(topics, kafka.Topic{
			Name: prefix + strconv.Itoa(i), Partitions: 16, Retention: time.Hour, Replicas: -1,
		})
	}
	if _, err := k.Ensure(t.Context(), topics...); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(topics) // the last one is the newest
	for _, topic := range topics {
		p := k.Producer(topic.Name)
		messages := make([]transport.Message, 200)
		for i := range messages {
			messages[i] = transport.Message{Key: []byte(strconv.Itoa(i)), Value: []byte("v")}
		}
		if n, err := p.Produce(t.Context(), messages); err != nil || n != len(messages) {
			t.Errorf("topic %s: %d of %d records taken, %v", topic.Name, n, len(messages), err)
		}
		_ = p.Close()
	}
}

// Two consumers go on soon after the broker is back and serves a new consumer, and report nothing: it takes less than
// half a second, six on a machine with much other work, and much more without a limit to the backoff. Then
// the broker loses the partition's log while it is down.
func TestConsumersAfterOutages(t *testing.T) {
	t.Parallel()
	server := backends.OwnKafka(t)
	l := newOneLog(t, server.Brokers, "")
	got := transporttest.NewReceived()
	consumers := []*kafka.Consumer{l.consumer(), l.consumer()}
	for _, c := range consumers {
		transporttest.Consume(t, c, got.Handle)
	}
	published := 0
	delivered := func(when string, n int) {
		t.Helper()
		l.publish(t, published, n)
		published += n
		transporttest.Until(t, "delivered "+when, func() bool { return got.Users() == published })
	}
	delivered("at first", 10)
	server.Kill()
	time.Sleep(12 * time.Second)
	server.Start()
	started := time.Now()
	first := transporttest.NewReceived()
	stopFirst := transporttest.Consume(t, connect(t, server.Brokers).Consumer(l.topic, "new", 50, transporttest.Quiet),
		first.Handle)
	transporttest.Until(t, "delivered to a new consumer", func() bool { return first.Users() == published })
	stopFirst()
	back := time.Now()
	delivered("after the outage", 10)
	took := time.Since(back)
	t.Logf("resumed %s after the broker was back, which took %s", took, back.Sub(started))
	if took > 8*time.Second {
		t.Errorf("resumed after %s, want at most 8 s", took)
	}
	server.Stop()
	server.Start()
	delivered("after a restart", 20)
	transporttest.Until(t, "the offset committed", func() bool { return l.committed(t) == 40 })
	time.Sleep(1200 * time.Millisecond) // the log was seen with 40 records
	if l.count() > 0 {
		t.Errorf("an intact log was reported: %+v", l.all[0])
	}

	server.Kill()
	emptyLog(t, server.Data, l.topic)
	server.Start()
	delivered("from the new log", 10)
	transporttest.Until(t, "a report", func() bool { return l.count() > 0 })
	var lost int64
	for _, c := range consumers {
		lost += c.Status().Lost
	}
	if lost != 0 {
		t.Errorf("%d records lost, want none: all were consumed", lost)
	}
	delivered("later", 60)
}

// emptyLog removes the records of a topic's partition from the folder of a broker that is
// down. The topic stays the same one.
func emptyLog(t *testing.T, data, topic string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(data, topic+"-0", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of the partition in %s: %v", data, err)
	}
	for _, f := range files {
		if filepath.Base(f) != "partition.metadata" { // the topic's id
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The log is cut and grows beyond the group's offset while nobody looks at its end: no member
// runs, and a reader's next request comes after that. Every record of the new log is
// delivered.
func TestLogCutAndGrown(t *testing.T) {
	t.Parallel()
	server := backends.OwnKafka(t)
	l := newOneLog(t, server.Brokers, "")
	got := transporttest.NewReceived()
	stop := transporttest.Consume(t, l.consumer(), got.Handle)
	l.publish(t, 0, 30)
	transporttest.Until(t, "delivered", func() bool { return got.Users() == 30 })
	transporttest.Until(t, "the offset committed", func() bool { return l.committed(t) == 30 })
	stop()
	read := l.client.Reading(l.topic)
	transporttest.Until(t, "read", func() bool {
		next, err := read(t.Context())
		return err == nil && next == 30
	})
	server.Stop()
	server.Start()
	l.publish(t, 30, 10) // of a later leader, and after all others
	transporttest.Until(t, "read after a clean restart", func() bool {
		next, err := read(t.Context())
		if errors.Is(err, kafka.ErrCut) {
			t.Fatal(err)
		}
		return err == nil && next == 40
	})
	stop = transporttest.Consume(t, l.consumer(), got.Handle)
	transporttest.Until(t, "delivered after a clean restart", func() bool { return got.Users() == 40 })
	transporttest.Until(t, "the offset committed", func() bool { return l.committed(t) == 40 })
	stop()
	if n := l.count(); n > 0 {
		t.Errorf("an intact log was reported: %+v", l.all[0])
	}

	server.Kill()
	emptyLog(t, server.Data, l.topic)
	server.Start()
	l.publish(t, 40, 60)
	transporttest.Until(t, "the cut found", func() bool {
		next, err := read(t.Context())
		if next > 40 {
			t.Fatalf("read up to offset %d of another log", next)
		}
		return errors.Is(err, kafka.ErrCut)
	})
	transporttest.Consume(t, l.consumer(), got.Handle)
	transporttest.Until(t, "all of the new log delivered", func() bool { return got.Users() == 100 })
	if n := l.count(); n != 1 {
		t.Errorf("%d reports, want one", n)
	}
}
