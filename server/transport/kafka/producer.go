package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/transport"
)

// Producer writes to one topic.
type Producer struct {
	client *Client
	topic  string
	writer *kafkago.Writer

	mu         sync.Mutex
	partitions int
	countedAt  time.Time
}

// Producer returns a producer, which the caller closes.
func (c *Client) Producer(topic string) *Producer {
	acks := kafkago.RequireAll
	if c.o.Acks == "one" {
		acks = kafkago.RequireOne
	}
	return &Producer{client: c, topic: topic, writer: &kafkago.Writer{
		Addr: kafkago.TCP(c.o.Brokers...), Topic: topic, Transport: c.transport,
		Balancer: balancer{}, RequiredAcks: acks, Compression: codecs[c.o.Compression],
		BatchTimeout: c.o.Linger, BatchSize: 1000, WriteTimeout: c.o.Timeout, ReadTimeout: c.o.Timeout,
		MaxAttempts: 2, // the caller retries, with backoff
	}}
}

// codecs are the compressions by name; any other name is none.
var codecs = map[string]kafkago.Compression{
	"gzip": kafkago.Gzip, "snappy": kafkago.Snappy, "lz4": kafkago.Lz4, "zstd": kafkago.Zstd,
}

// Close waits for the writes in progress.
func (p *Producer) Close() error { return p.writer.Close() }

// balancer chooses the partition by key, except for messages that name theirs.
type balancer struct{}

func (balancer) Balance(m kafkago.Message, partitions ...int) int {
	if p, ok := m.WriterData.(int); ok && p < len(partitions) {
		return p
	}
	var h kafkago.Hash // stateless for messages with a key, and all have one
	return h.Balance(m, partitions...)
}

// Produce writes messages and returns how many from the front are acknowledged.
// Some of the others may have been written, too. The error has the code
// payload_too_large if a broker rejects the next message, or the batch that
// holds it, for its size.
func (p *Producer) Produce(ctx context.Context, messages []transport.Message) (int, error) {
	out := make([]kafkago.Message, len(messages))
	for i, m := range messages {
		out[i] = kafkago.Message{Key: m.Key, Value: m.Value}
		for _, h := range m.Headers {
			out[i].Headers = append(out[i].Headers, kafkago.Header{Key: h.Key, Value: h.Value})
		}
	}
	err := p.writer.WriteMessages(ctx, out...)
	if err == nil {
		return len(messages), nil
	}
	acknowledged, cause := firstFailure(err)
	err = fmt.Errorf("produce %d messages to %s: %w", len(messages), p.topic, cause)
	if tooLarge(cause) {
		err = &scoreboard.Error{
			Code: scoreboard.CodePayloadTooLarge, Message: "the message is too large for the transport", Err: err,
		}
	}
	return acknowledged, err
}

// tooLarge distinguishes a rejected message from an outage.
func tooLarge(err error) bool {
	var tooLarge kafkago.MessageTooLargeError
	return errors.As(err, &tooLarge) ||
		errors.Is(err, kafkago.MessageSizeTooLarge) || errors.Is(err, kafkago.RecordListTooLarge)
}

// Broadcast writes one message to every partition.
func (p *Producer) Broadcast(ctx context.Context, key, value []byte) error {
	n, err := p.Partitions(ctx)
	if err != nil {
		return err
	}
	out := make([]kafkago.Message, n)
	for i := range out {
		out[i] = kafkago.Message{Key: key, Value: value, WriterData: i}
	}
	if err := p.writer.WriteMessages(ctx, out...); err != nil {
		_, cause := firstFailure(err)
		return fmt.Errorf("broadcast to %s: %w", p.topic, cause)
	}
	return nil
}

// firstFailure finds the first message that was not written, and its error.
func firstFailure(err error) (index int, cause error) {
	var each kafkago.WriteErrors
	if !errors.As(err, &each) {
		return 0, err
	}
	for index < len(each) && each[index] == nil {
		index++
	}
	return index, each[index] // at least one is not nil
}

// partitionsMaxAge is how late a producer may notice added partitions.
const partitionsMaxAge = 10 * time.Second

// Partitions counts the partitions of the topic.
func (p *Producer) Partitions(ctx context.Context) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.countedAt) < partitionsMaxAge {
		return p.partitions, nil
	}
	n, err := p.client.partitions(ctx, p.topic)
	if err != nil {
		return 0, err
	}
	p.partitions, p.countedAt = n, time.Now()
	return n, nil
}
