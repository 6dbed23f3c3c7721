package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/segmentio/kafka-go"
)

// KafkaOptions are the settings of the connection to Kafka.
type KafkaOptions struct {
	Brokers []string
	Linger  time.Duration // that a produce request waits for more
	Timeout time.Duration // of one produce request
	// Compression is none, gzip, snappy, lz4 or zstd; Acks is all, or one for
	// the leader's alone: what it has acknowledged may then be lost with it.
	Compression, Acks string
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
