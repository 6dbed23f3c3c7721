package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// errStalled reports a reader that fetches nothing although there are records
// to read: kafka-go can get into that state after rebalances and broker
// restarts.
var errStalled = errors.New("the reader makes no progress despite a lag")

// stallCheckInterval is the time between two checks. The relay's heartbeats
// come each second, so a healthy reader fetches something in between.
const stallCheckInterval = 10 * time.Second

// stallDetector measures the lag of a consumer, and ends a reader that stalls:
// one that fetched nothing between two checks, while some partition had a lag
// at both and the group committed nothing there. The caller of Consume then
// starts a new reader.
type stallDetector struct {
	consumer *Consumer
	fetcher  *fetcher
}

func (d *stallDetector) run(ctx context.Context, end context.CancelCauseFunc) error {
	c := d.consumer
	tick := time.NewTicker(c.checkEvery)
	defer tick.Stop()
	var before map[int]position
	fetchedBefore := d.fetcher.fetched.Load()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, err := c.positions(ctx)
		if err != nil {
			c.log.Debug("lag not measured", "topic", c.topic, "err", err)
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
		c.lag.Store(total)
		c.lagGauge.Set(float64(total))
		fetched := d.fetcher.fetched.Load()
		if stuck && fetched == fetchedBefore && d.fetcher.idle.Load() {
			c.stalls.Inc()
			end(errStalled)
			return errStalled
		}
		fetchedBefore, before = fetched, now
	}
}

// MeasureLag counts the records of the topic that the group has not consumed.
func (c *Consumer) MeasureLag(ctx context.Context) (int64, error) {
	all, err := c.positions(ctx)
	if err != nil {
		return 0, err
	}
	var n int64
	for _, p := range all {
		n += p.lag()
	}
	return n, nil
}

// positions asks the brokers how far the group is in each partition.
func (c *Consumer) positions(ctx context.Context) (map[int]position, error) {
	ctx, cancel := context.WithTimeout(ctx, c.client.o.Timeout)
	defer cancel()
	found, err := c.client.ends(ctx, c.topic)
	if err != nil {
		return nil, err
	}
	partitions := make([]int, 0, len(found))
	for p := range found {
		partitions = append(partitions, p)
	}
	group, err := c.client.api.OffsetFetch(ctx, &kafkago.OffsetFetchRequest{
		GroupID: c.group, Topics: map[string][]int{c.topic: partitions},
	})
	if err != nil {
		return nil, fmt.Errorf("fetch the offsets of group %s: %w", c.group, err)
	}
	for _, p := range group.Topics[c.topic] {
		at := found[p.Partition]
		at.committed = p.CommittedOffset
		found[p.Partition] = at
	}
	return found, nil
}
