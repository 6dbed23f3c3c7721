package kafka

import (
	"context"
	"sync"
	"time"

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
	var serial sync.Mutex
	take := func(_ context.Context, records []scoreboard.Record) error {
		serial.Lock()
		defer serial.Unlock()
		for i := range records {
			notice, err := protocol.DecodeNotice(records[i].Value)
			if err != nil {
				bad(err)
				continue
			}
			notice.Trace = records[i].Trace
			do(notice)
		}
		return nil
	}
	for {
		if ends, err := n.client.ends(ctx, n.topic); err == nil {
			next := make(map[int]*int64, len(ends))
			for partition, at := range ends {
				next[partition] = &at.end
			}
			f := &fetcher{client: n.client, topic: n.topic, next: next, take: take}
			_ = f.run(ctx) // a log that was trimmed or replaced is followed from its end again
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followRetryInterval):
		}
	}
}
