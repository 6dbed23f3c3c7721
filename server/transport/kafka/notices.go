package kafka

import (
	"context"
	"errors"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// followRetryInterval is the pause after a topic is not found or a read fails.
const followRetryInterval = time.Second

// Notices reads the topic of notices as every gateway does: all partitions,
// from their end, without a group.
type Notices struct {
	client *Client
	topic  string
}

// Notices opens the topic of notices.
func (c *Client) Notices(topic string) *Notices { return &Notices{c, topic} }

// Follow calls do for every notice from now on, one at a time, until ctx ends.
// Notices may be lost while Kafka is unavailable; their versions show the gap.
// One that cannot be decoded, because another build wrote it, is reported to
// bad.
func (n *Notices) Follow(ctx context.Context, do func(scoreboard.Notice), bad func(error)) error {
	partitions := 0
	for {
		var err error
		if partitions, err = n.client.partitions(ctx, n.topic); err == nil && partitions > 0 {
			break
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followRetryInterval):
		}
	}
	var serial sync.Mutex
	var readers sync.WaitGroup
	for p := range partitions {
		readers.Go(func() {
			n.follow(ctx, p, func(value []byte) {
				notice, err := protocol.DecodeNotice(value)
				serial.Lock()
				defer serial.Unlock()
				if err != nil {
					bad(err)
					return
				}
				do(notice)
			})
		})
	}
	readers.Wait()
	return nil
}

// follow reads one partition from its end. The reader reconnects by itself.
func (n *Notices) follow(ctx context.Context, partition int, do func(value []byte)) {
	r := kafkago.NewReader(kafkago.ReaderConfig{
		Brokers: n.client.o.Brokers, Topic: n.topic, Partition: partition, Dialer: n.client.dialer(),
		MinBytes: 1, MaxBytes: 4 << 20, MaxWait: 2 * time.Second, QueueCapacity: 100, MaxAttempts: 3,
	})
	defer func() { _ = r.Close() }() // nothing was written
	if err := r.SetOffset(kafkago.LastOffset); err != nil {
		return // only a closed reader returns an error, and this one is open
	}
	for {
		m, err := r.ReadMessage(ctx)
		switch {
		case err == nil:
			do(m.Value)
		case ctx.Err() != nil:
			return
		case errors.Is(err, context.DeadlineExceeded):
		default:
			select {
			case <-ctx.Done():
				return
			case <-time.After(followRetryInterval):
			}
		}
	}
}
