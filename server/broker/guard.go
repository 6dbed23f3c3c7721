package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
)

// errStalled says that a reader stood still although there was something to
// read: kafka-go knows ways to do so after rebalances and broker restarts.
var errStalled = errors.New("the reader stands still before a lag")

// guard watches a reader: where nothing came for two looks, and in between a
// partition had a lag and the group made no progress in it, the reader is
// ended, and whoever runs the consumer makes a new one.
func (c *Consumer) guard(ctx context.Context, f *fetcher, end context.CancelCauseFunc) error {
	tick := time.NewTicker(c.watch)
	defer tick.Stop()
	var before map[int]position
	seen := f.fetched.Load()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, err := c.positions(ctx)
		if err != nil {
			c.log.Debug("lag not known", "topic", c.topic, "err", err)
			before = nil
			continue
		}
		total := int64(0)
		stuck := false
		for partition, p := range now {
			total += p.lag()
			was, known := before[partition]
			stuck = stuck || known && was.lag() > 0 && p.lag() > 0 && p.committed == was.committed
		}
		c.lag.Set(float64(total))
		fetched := f.fetched.Load()
		if stuck && fetched == seen && f.idle.Load() {
			c.rebuilt.Inc()
			end(errStalled)
			return errStalled
		}
		seen, before = fetched, now
	}
}

// position is how far a group is in a partition.
type position struct{ committed, first, end int64 }

func (p position) lag() int64 { return p.end - max(p.committed, p.first) }

// positions asks the brokers how far the group is.
func (c *Consumer) positions(ctx context.Context) (map[int]position, error) {
	ctx, cancel := context.WithTimeout(ctx, c.kafka.o.Timeout)
	defer cancel()
	found, err := c.kafka.ends(ctx, c.topic)
	if err != nil {
		return nil, err
	}
	partitions := make([]int, 0, len(found))
	for p := range found {
		partitions = append(partitions, p)
	}
	group, err := c.kafka.client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: c.group, Topics: map[string][]int{c.topic: partitions}})
	if err != nil {
		return nil, fmt.Errorf("ask for the offsets of %s: %w", c.group, err)
	}
	for _, p := range group.Topics[c.topic] {
		at := found[p.Partition]
		at.committed = p.CommittedOffset
		found[p.Partition] = at
	}
	return found, nil
}

// ends asks the brokers for both ends of every partition.
func (k *Kafka) ends(ctx context.Context, topic string) (map[int]position, error) {
	n, err := k.partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	firsts, lasts := make([]kafka.OffsetRequest, n), make([]kafka.OffsetRequest, n)
	for p := range n {
		firsts[p], lasts[p] = kafka.FirstOffsetOf(p), kafka.LastOffsetOf(p)
	}
	found := make(map[int]position, n)
	// One question for each end: a broker may refuse a partition twice in one.
	for _, asked := range [][]kafka.OffsetRequest{firsts, lasts} {
		ends, err := k.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: asked}})
		if err != nil {
			return nil, fmt.Errorf("ask for the ends of %s: %w", topic, err)
		}
		for _, p := range ends.Topics[topic] {
			if p.Error != nil {
				return nil, fmt.Errorf("ask for the ends of partition %d of %s: %w", p.Partition, topic, p.Error)
			}
			at := found[p.Partition]
			at.first, at.end = max(at.first, p.FirstOffset), max(at.end, p.LastOffset)
			found[p.Partition] = at
		}
	}
	return found, nil
}
