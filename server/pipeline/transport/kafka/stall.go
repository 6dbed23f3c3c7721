package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/offsetfetch"
)

// errStalled reports a session that fetches nothing although there are records to
// read: kafka-go can get into that state after rebalances and broker restarts.
var errStalled = errors.New("the session makes no progress despite a lag")

// checkInterval is the time between two inspections of a consumer's positions.
const checkInterval = 2 * time.Second

// stallChecks is how many inspections without progress make a stall. The relay's
// heartbeats come each second, so a healthy session fetches something in between.
const stallChecks = 5

// stallDetector measures the lag of a consumer. It ends a session that stalls: one
// that fetched nothing between stallChecks inspections and handled nothing at them, while
// some partition had a lag at all of them and the group committed nothing there. It also
// ends one whose log was cut or replaced. The caller then starts a new session.
type stallDetector struct {
	session *session
}

func (d *stallDetector) run(ctx context.Context, end context.CancelCauseFunc) error {
	c := d.session
	tick := time.NewTicker(c.checkEvery)
	defer tick.Stop()
	var before map[int]position
	checks := 0 // since before
	fetchedBefore := c.fetched.Load()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, damage, err := c.inspect(ctx)
		if err != nil {
			c.log.Debug("lag not measured", "topic", c.topic, "err", err)
			before, checks = nil, 0
			continue
		}
		if damage != nil {
			end(damage)
			return damage
		}
		total := int64(0)
		stuck := false
		for partition, p := range now {
			total += p.lag()
			was, known := before[partition]
			stuck = stuck || known && was.lag() > 0 && p.lag() > 0 && p.committed == was.committed
		}
		c.setLag(total)
		fetched := c.fetched.Load()
		if !stuck || fetched != fetchedBefore || c.busy.Load() {
			fetchedBefore, before, checks = fetched, now, 0
			continue
		}
		if checks++; checks >= stallChecks {
			c.stalls.Inc()
			end(errStalled)
			return errStalled
		}
	}
}

func (c *Consumer) setLag(n int64) {
	c.lag.Store(n)
	c.lagGauge.Set(float64(n))
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
	c.setLag(n)
	return n, nil
}

// awaitInterval is the time between two questions for the committed offsets.
const awaitInterval = 50 * time.Millisecond

// AwaitConsumed returns nil once the group has consumed everything that was in the
// topic at the call.
func (c *Consumer) AwaitConsumed(ctx context.Context) error {
	all, err := c.positions(ctx)
	for {
		// The group's coordinator may be moving or starting.
		var refused kafkago.Error
		if err != nil && !(errors.As(err, &refused) && refused.Temporary()) {
			return err
		}
		left := err != nil
		for partition, p := range all {
			if p.lag() == 0 {
				delete(all, partition)
			}
			left = left || p.lag() > 0
		}
		if !left {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for group %s to consume %s: %w", c.group, c.topic, errors.Join(ctx.Err(), err))
		case <-time.After(awaitInterval):
		}
		if all == nil {
			all, err = c.positions(ctx)
			continue
		}
		err = c.commitsOf(ctx, all)
	}
}

// positions asks the brokers how far the group is in each partition.
func (c *Consumer) positions(ctx context.Context) (map[int]position, error) {
	all, unknown, err := c.knownPositions(ctx)
	if err = cmp.Or(err, unknown); err != nil {
		return nil, err
	}
	return all, nil
}

// knownPositions is positions for the partitions whose leaders answer; unknown is why
// others are missing. The commits come first: no commit is beyond an end that is measured
// after it.
func (c *Consumer) knownPositions(ctx context.Context) (all map[int]position, unknown, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.client.o.Timeout)
	defer cancel()
	n, err := c.client.partitions(ctx, c.topic)
	if err != nil {
		return nil, nil, err
	}
	all = make(map[int]position, n)
	for p := range n {
		all[p] = position{}
	}
	if err := c.commitsOf(ctx, all); err != nil {
		return nil, nil, err
	}
	ends, unknown, err := c.client.knownEnds(ctx, c.topic, n)
	if err != nil {
		return nil, nil, err
	}
	for p, at := range ends {
		at.committed, at.epoch = all[p].committed, all[p].epoch
		ends[p] = at
	}
	return ends, unknown, nil
}

// commitsOf sets the committed offsets of the partitions in all.
func (c *Consumer) commitsOf(ctx context.Context, all map[int]position) error {
	asked := offsetfetch.RequestTopic{Name: c.topic}
	for p := range all {
		asked.PartitionIndexes = append(asked.PartitionIndexes, int32(p))
	}
	answer, err := c.client.transport.RoundTrip(ctx, c.client.api.Addr, &offsetfetch.Request{
		GroupID: c.group, Topics: []offsetfetch.RequestTopic{asked},
	})
	if err != nil {
		return fmt.Errorf("fetch the offsets of group %s: %w", c.group, err)
	}
	group := answer.(*offsetfetch.Response)
	switch failure := kafkago.Error(group.ErrorCode); {
	case errors.Is(failure, kafkago.GroupIdNotFound): // it never had a member
		for p, at := range all {
			at.committed, at.epoch = -1, unknownEpoch
			all[p] = at
		}
		return nil
	case failure != 0:
		return fmt.Errorf("fetch the offsets of group %s: %w", c.group, failure)
	}
	for _, t := range group.Topics {
		for _, p := range t.Partitions {
			partition := int(p.PartitionIndex)
			if p.ErrorCode != 0 {
				return fmt.Errorf("fetch the offset of group %s in partition %d: %w",
					c.group, partition, kafkago.Error(p.ErrorCode))
			}
			at := all[partition]
			at.committed, at.epoch = p.CommittedOffset, p.ComittedLeaderEpoch
			all[partition] = at
		}
	}
	return nil
}
