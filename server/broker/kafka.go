package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
)

// KafkaOptions are the knobs of the connection to Kafka.
type KafkaOptions struct {
	Brokers []string
	Linger  time.Duration // that a produce request waits for more
	Timeout time.Duration // of one produce request
}

// Kafka is a connection to one cluster. Close it after its users.
type Kafka struct {
	o         KafkaOptions
	transport *kafka.Transport
	client    *kafka.Client
}

// NewKafka connects lazily.
func NewKafka(o KafkaOptions) *Kafka {
	// kafka-go remembers for six seconds that a topic is unknown otherwise.
	t := &kafka.Transport{MetadataTTL: 250 * time.Millisecond, IdleTimeout: time.Minute, DialTimeout: 2 * time.Second}
	return &Kafka{o: o, transport: t, client: &kafka.Client{Addr: kafka.TCP(o.Brokers...), Transport: t, Timeout: o.Timeout}}
}

// Close ends the connections, which would otherwise keep goroutines.
func (k *Kafka) Close() { k.transport.CloseIdleConnections() }

// Ping says whether a broker answers.
func (k *Kafka) Ping(ctx context.Context) error {
	if _, err := k.client.Metadata(ctx, &kafka.MetadataRequest{}); err != nil {
		return fmt.Errorf("ping Kafka: %w", err)
	}
	return nil
}

// Topic is a topic as the server wants it.
type Topic struct {
	Name       string
	Partitions int
	Retention  time.Duration
	Replicas   int // -1: the broker's default
}

// ErrTooFewPartitions says that a topic was made with fewer partitions than are
// wanted: a person must decide whether keys may move.
var ErrTooFewPartitions = errors.New("the topic has too few partitions")

// Ensure makes the topics that are missing and refuses one with fewer
// partitions than wanted.
func (k *Kafka) Ensure(ctx context.Context, topics ...Topic) error {
	request := &kafka.CreateTopicsRequest{}
	for _, t := range topics {
		request.Topics = append(request.Topics, kafka.TopicConfig{
			Topic: t.Name, NumPartitions: t.Partitions, ReplicationFactor: t.Replicas,
			ConfigEntries: []kafka.ConfigEntry{
				{ConfigName: "retention.ms", ConfigValue: strconv.FormatInt(t.Retention.Milliseconds(), 10)},
				{ConfigName: "cleanup.policy", ConfigValue: "delete"},
			},
		})
	}
	made, err := k.client.CreateTopics(ctx, request)
	if err != nil {
		return fmt.Errorf("make %d topics: %w", len(topics), err)
	}
	for name, err := range made.Errors {
		if err != nil && !errors.Is(err, kafka.TopicAlreadyExists) {
			return fmt.Errorf("make topic %s: %w", name, err)
		}
	}
	for _, t := range topics {
		n, err := k.partitions(ctx, t.Name)
		if err != nil {
			return err
		}
		if n < t.Partitions {
			return fmt.Errorf("topic %s has %d, want %d: %w", t.Name, n, t.Partitions, ErrTooFewPartitions)
		}
	}
	return nil
}

// partitions counts those of a topic, waiting a little for one just made.
func (k *Kafka) partitions(ctx context.Context, topic string) (int, error) {
	var last error
	for range 40 {
		m, err := k.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
		switch {
		case err != nil:
			return 0, fmt.Errorf("count the partitions of %s: %w", topic, err)
		case len(m.Topics) == 1 && m.Topics[0].Error == nil && len(m.Topics[0].Partitions) > 0:
			return len(m.Topics[0].Partitions), nil
		case len(m.Topics) == 1:
			last = m.Topics[0].Error
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return 0, fmt.Errorf("count the partitions of %s: %w", topic, errors.Join(last, errors.New("the topic is not there")))
}

// dialer is for readers; kafka-go has one of its own for them.
func (k *Kafka) dialer() *kafka.Dialer {
	return &kafka.Dialer{Timeout: 2 * time.Second, KeepAlive: 30 * time.Second, Resolver: net.DefaultResolver}
}
