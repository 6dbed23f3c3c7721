package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
)

// position is how far a group is in a partition; committed is -1 before its first
// commit. epoch is that of the last record that it has committed.
type position struct {
	committed, first, end int64
	epoch                 int32
}

// lag counts the records that the group has not consumed. A group beyond the end has
// consumed another log: nothing of this one is known to be consumed.
func (p position) lag() int64 {
	if p.committed > p.end {
		return p.end - p.first
	}
	return p.end - max(p.committed, p.first)
}

// ends asks the leaders for the first offset and the end of every partition.
func (c *Client) ends(ctx context.Context, topic string) (map[int]position, error) {
	n, err := c.partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	return c.endsOf(ctx, topic, n)
}

// endsOf is ends for a known number of partitions.
func (c *Client) endsOf(ctx context.Context, topic string, n int) (map[int]position, error) {
	found, unknown, err := c.knownEnds(ctx, topic, n)
	if err = cmp.Or(err, unknown); err != nil {
		return nil, err
	}
	return found, nil
}

// knownEnds is endsOf for the partitions whose leaders answer; unknown is why others are
// missing.
func (c *Client) knownEnds(
	ctx context.Context, topic string, n int,
) (found map[int]position, unknown, err error) {
	leaders, err := c.leaders(ctx, topic)
	if err != nil {
		return nil, nil, err
	}
	led := make(map[int][]int)
	for p := range n {
		leader := -1
		if p < len(leaders) {
			leader = leaders[p]
		}
		led[leader] = append(led[leader], p)
	}
	var mu sync.Mutex
	found = make(map[int]position, n)
	failures := make(map[int]error) // by leader
	var all sync.WaitGroup
	for leader, partitions := range led {
		all.Go(func() {
			ends, err := map[int]position(nil), error(kafkago.LeaderNotAvailable)
			if leader >= 0 {
				ends, err = c.endsFrom(ctx, topic, partitions)
			}
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(found, ends)
			if err != nil {
				failures[leader] = err
			}
		})
	}
	all.Wait()
	for _, err := range failures {
		unknown = fmt.Errorf("list the offsets of %s: %w", topic, err)
	}
	if len(found) == 0 && n > 0 {
		return nil, nil, unknown
	}
	return found, unknown, nil
}

// listOffsets is a request for offsets of partitions with one leader. kafka-go's own, of the same
// form, is split into a request for each partition, of which an idle consumer made dozens a second.
type listOffsets listoffsets.Request

// ApiKey implements protocol.Message.
func (r *listOffsets) ApiKey() protocol.ApiKey { return protocol.ListOffsets }

// Broker implements protocol.BrokerMessage.
func (r *listOffsets) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	return (*listoffsets.Request)(r).Broker(cluster)
}

// The timestamps that stand for the ends of a partition.
const latestOffset, earliestOffset = -1, -2

// endsFrom asks the leader of partitions. It returns those for which the leader has both ends, and
// the error of another one.
func (c *Client) endsFrom(ctx context.Context, topic string, partitions []int) (map[int]position, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	found := make(map[int]position, len(partitions))
	var failed error
	// One request for each end: a broker may reject a partition that is named
	// twice in one request.
	for _, end := range []int64{earliestOffset, latestOffset} {
		asked := make([]listoffsets.RequestPartition, len(partitions))
		for i, p := range partitions {
			asked[i] = listoffsets.RequestPartition{
				Partition: int32(p), CurrentLeaderEpoch: unknownEpoch, Timestamp: end,
			}
		}
		answer, err := c.transport.RoundTrip(ctx, c.api.Addr, &listOffsets{
			ReplicaID: -1, Topics: []listoffsets.RequestTopic{{Topic: topic, Partitions: asked}},
		})
		if err != nil {
			return nil, err
		}
		response, ok := answer.(*listoffsets.Response)
		if !ok || len(response.Topics) != 1 || len(response.Topics[0].Partitions) != len(partitions) {
			return nil, errors.New("the broker does not answer for the partitions that it was asked for")
		}
		for _, p := range response.Topics[0].Partitions {
			at, known := found[int(p.Partition)]
			switch {
			case p.ErrorCode != 0:
				failed = cmp.Or(failed, fmt.Errorf("partition %d: %w", p.Partition, kafkago.Error(p.ErrorCode)))
				delete(found, int(p.Partition))
			case end == earliestOffset:
				found[int(p.Partition)] = position{first: p.Offset}
			case known:
				at.end = p.Offset
				found[int(p.Partition)] = at
			}
		}
	}
	return found, failed
}
