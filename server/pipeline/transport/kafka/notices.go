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
	var next map[int]*cursor // nil: from the end
	for {
		if ends, err := n.client.ends(ctx, n.topic); err == nil {
			from := make(map[int]*cursor, len(ends))
			for partition, at := range ends {
				switch {
				case next == nil:
					from[partition] = &cursor{at.end, unknownEpoch}
				case next[partition] == nil: // added: all its notices are new
					from[partition] = &cursor{at.first, unknownEpoch}
				default:
					from[partition] = next[partition]
				}
			}
			next = from
			f := &fetcher{client: n.client, topic: n.topic, next: next, take: take}
			if n.run(ctx, f) != nil {
				next = nil // trimmed or replaced
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followRetryInterval):
		}
	}
}

// addedInterval is how often a follower looks whether the topic has got more partitions.
const addedInterval = time.Second

// run runs a fetcher until ctx ends or the topic has got more partitions.
func (n *Notices) run(ctx context.Context, f *fetcher) error {
	ctx, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		for tick := time.Tick(addedInterval); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick:
			}
			if leaders, err := n.client.leaders(ctx, n.topic); err == nil && len(leaders) > len(f.next) {
				stop()
			}
		}
	})
	err := f.run(ctx)
	stop()
	watch.Wait()
	return err
}
