package broker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// followPause is between two tries to find the topic or to go on reading it.
const followPause = time.Second

// NoticeTopic is the topic of notices, as every gateway reads it: all of it,
// from now on, as a member of no group.
type NoticeTopic struct {
	kafka *Kafka
	topic string
}

// Notices is the topic of that name.
func (k *Kafka) Notices(topic string) *NoticeTopic { return &NoticeTopic{k, topic} }

// Follow calls do for every notice from now on, one at a time, until ctx ends.
// Notices may be lost while Kafka is away: versions tell. One that cannot be
// read, which another build may have written, goes to bad.
func (n *NoticeTopic) Follow(ctx context.Context, do func(scoreboard.Notice), bad func(error)) error {
	partitions := 0
	for {
		var err error
		if partitions, err = n.kafka.partitions(ctx, n.topic); err == nil && partitions > 0 {
			break
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
	}
	var one sync.Mutex
	var all sync.WaitGroup
	for p := range partitions {
		all.Go(func() {
			n.follow(ctx, p, func(value []byte) {
				notice, err := protocol.DecodeNotice(value)
				one.Lock()
				defer one.Unlock()
				if err != nil {
					bad(err)
					return
				}
				do(notice)
			})
		})
	}
	all.Wait()
	return nil
}

// follow reads one partition from its end. The reader connects again by itself.
func (n *NoticeTopic) follow(ctx context.Context, partition int, do func(value []byte)) {
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: n.kafka.o.Brokers, Topic: n.topic, Partition: partition, Dialer: n.kafka.dialer(),
		MinBytes: 1, MaxBytes: 4 << 20, MaxWait: 2 * time.Second, QueueCapacity: 100, MaxAttempts: 3,
	})
	defer func() { _ = r.Close() }() // nothing of it is kept
	if err := r.SetOffset(kafka.LastOffset); err != nil {
		return // the reader is closed, and nobody else closes it
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
			case <-time.After(followPause):
			}
		}
	}
}
