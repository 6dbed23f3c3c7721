package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Message is what is produced: records of one key keep their order.
type Message struct {
	Key     []byte
	Value   []byte
	Headers []Header
}

// Header is metadata of a message.
type Header struct {
	Key   string
	Value []byte
}

// Producer writes to one topic.
type Producer struct {
	kafka  *Kafka
	topic  string
	writer *kafka.Writer

	mu         sync.Mutex
	partitions int
	counted    time.Time
}

// Producer makes a producer, which its user closes.
func (k *Kafka) Producer(topic string) *Producer {
	acks := kafka.RequireAll
	if k.o.Acks == "one" {
		acks = kafka.RequireOne
	}
	return &Producer{kafka: k, topic: topic, writer: &kafka.Writer{
		Addr: kafka.TCP(k.o.Brokers...), Topic: topic, Transport: k.transport,
		Balancer: balancer{}, RequiredAcks: acks, Compression: codecs[k.o.Compression],
		BatchTimeout: k.o.Linger, BatchSize: 1000, WriteTimeout: k.o.Timeout, ReadTimeout: k.o.Timeout,
		MaxAttempts: 2, // the caller knows better when to try again
	}}
}

// codecs are the compressions by name; another name is none.
var codecs = map[string]kafka.Compression{"gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd}

// Close waits for what is being written.
func (p *Producer) Close() error { return p.writer.Close() }

// balancer goes by key, but for messages that name their partition.
type balancer struct{}

func (balancer) Balance(m kafka.Message, partitions ...int) int {
	if p, ok := m.WriterData.(int); ok && p < len(partitions) {
		return p
	}
	var h kafka.Hash // stateless for keyed messages, and every message has a key
	return h.Balance(m, partitions...)
}

// Produce writes messages and returns how many from the front every replica
// acknowledged. Beyond that some may have been written, too. It is a
// payload_too_large where the broker refuses the next one for its size, or
// those that were sent with it.
func (p *Producer) Produce(ctx context.Context, messages []Message) (int, error) {
	out := make([]kafka.Message, len(messages))
	for i, m := range messages {
		out[i] = kafka.Message{Key: m.Key, Value: m.Value}
		for _, h := range m.Headers {
			out[i].Headers = append(out[i].Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
	}
	err := p.writer.WriteMessages(ctx, out...)
	if err == nil {
		return len(messages), nil
	}
	acknowledged, cause := firstOf(err)
	err = fmt.Errorf("produce %d messages to %s: %w", len(messages), p.topic, cause)
	if tooLarge(cause) {
		err = &scoreboard.Error{Code: scoreboard.CodePayloadTooLarge, Message: "the transport refuses a message of this size", Err: err}
	}
	return acknowledged, err
}

// tooLarge tells a refusal for good from an outage.
func tooLarge(err error) bool {
	var tooLarge kafka.MessageTooLargeError
	return errors.As(err, &tooLarge) || errors.Is(err, kafka.MessageSizeTooLarge) || errors.Is(err, kafka.RecordListTooLarge)
}

// Broadcast writes one value to every partition.
func (p *Producer) Broadcast(ctx context.Context, key, value []byte) error {
	n, err := p.count(ctx)
	if err != nil {
		return err
	}
	out := make([]kafka.Message, n)
	for i := range out {
		out[i] = kafka.Message{Key: key, Value: value, WriterData: i}
	}
	if err := p.writer.WriteMessages(ctx, out...); err != nil {
		_, cause := firstOf(err)
		return fmt.Errorf("broadcast to %s: %w", p.topic, cause)
	}
	return nil
}

// firstOf finds the first message that failed, and why: kafka-go tells the
// same for each of them.
func firstOf(err error) (index int, cause error) {
	var each kafka.WriteErrors
	if !errors.As(err, &each) {
		return 0, err
	}
	for index < len(each) && each[index] == nil {
		index++
	}
	return index, each[index] // there is one, or there had been no error
}

// recount is how late a producer learns of partitions that were added.
const recount = 10 * time.Second

func (p *Producer) count(ctx context.Context) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.counted) < recount {
		return p.partitions, nil
	}
	n, err := p.kafka.partitions(ctx, p.topic)
	if err != nil {
		return 0, err
	}
	p.partitions, p.counted = n, time.Now()
	return n, nil
}
