package kafka

import (
	"context"
	"errors"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Every record has the epoch of the leader that wrote it, and a leader knows where the
// records of each epoch end. If those of the last record that was read end before it, the
// log was cut there, whatever was written since.

// unknownEpoch stands for the epoch of no record.
const unknownEpoch = -1

// cursor is where a partition is read next, and the epoch of the record before.
type cursor struct {
	offset int64
	epoch  int32
}

// errCut is in the chain of an error that means: the log was cut before a cursor.
var errCut = errors.New("the log was cut")

// cutsBefore returns the offset at which each partition was cut before its cursor. unknown is
// why some partitions are not known.
func (c *Client) cutsBefore(
	ctx context.Context, topic string, at map[int]cursor,
) (cuts map[int]int64, unknown error) {
	leaders, err := c.leaders(ctx, topic)
	if err != nil {
		return nil, err
	}
	asked := make(map[int][]epochPartition)
	for partition, from := range at {
		if from.epoch == unknownEpoch || partition >= len(leaders) || leaders[partition] < 0 {
			continue // where it has no leader, its end is not known either
		}
		leader := leaders[partition]
		asked[leader] = append(asked[leader], epochPartition{
			Partition: int32(partition), CurrentLeaderEpoch: unknownEpoch, LeaderEpoch: from.epoch,
		})
	}
	cuts = make(map[int]int64)
	for _, partitions := range asked {
		request := &epochRequest{ReplicaID: -1, Topics: []epochTopic{{Topic: topic, Partitions: partitions}}}
		answer, err := c.transport.RoundTrip(ctx, c.api.Addr, request)
		if err != nil {
			unknown = fmt.Errorf("find the ends of the epochs of %s: %w", topic, err)
			continue
		}
		for _, t := range answer.(*epochResponse).Topics {
			for _, p := range t.Partitions {
				end, from := p.EndOffset, at[int(p.Partition)]
				if p.ErrorCode != 0 {
					unknown = fmt.Errorf("find the end of epoch %d of partition %d of %s: %w",
						from.epoch, p.Partition, topic, kafkago.Error(p.ErrorCode))
				} else if end >= 0 && end < from.offset { // -1: the epoch is later than the leader's
					cuts[int(p.Partition)] = end
				}
			}
		}
	}
	return cuts, unknown
}

// checkCut returns errCut if a partition was cut before a cursor.
func (c *Client) checkCut(ctx context.Context, topic string, partition int, at cursor) error {
	cuts, err := c.cutsBefore(ctx, topic, map[int]cursor{partition: at})
	if err != nil {
		return err
	}
	if end, ok := cuts[partition]; ok {
		return fmt.Errorf("%w: partition %d at offset %d, before %d", errCut, partition, end, at.offset)
	}
	return nil
}

// kafka-go has no request for the ends of epochs. Its transport sends any type that is
// registered.
func init() { protocol.Register(&epochRequest{}, &epochResponse{}) }

type epochRequest struct {
	ReplicaID int32        `kafka:"min=v3,max=v3"`
	Topics    []epochTopic `kafka:"min=v2,max=v3"`
}

type epochTopic struct {
	Topic      string           `kafka:"min=v2,max=v3"`
	Partitions []epochPartition `kafka:"min=v2,max=v3"`
}

type epochPartition struct {
	Partition          int32 `kafka:"min=v2,max=v3"`
	CurrentLeaderEpoch int32 `kafka:"min=v2,max=v3"`
	LeaderEpoch        int32 `kafka:"min=v2,max=v3"`
}

type epochResponse struct {
	ThrottleTimeMs int32       `kafka:"min=v2,max=v3"`
	Topics         []epochEnds `kafka:"min=v2,max=v3"`
}

type epochEnds struct {
	Topic      string     `kafka:"min=v2,max=v3"`
	Partitions []epochEnd `kafka:"min=v2,max=v3"`
}

type epochEnd struct {
	ErrorCode   int16 `kafka:"min=v2,max=v3"`
	Partition   int32 `kafka:"min=v2,max=v3"`
	LeaderEpoch int32 `kafka:"min=v2,max=v3"`
	EndOffset   int64 `kafka:"min=v2,max=v3"`
}

// ApiKey implements protocol.Message.
func (*epochRequest) ApiKey() protocol.ApiKey { return protocol.OffsetForLeaderEpoch }

// ApiKey implements protocol.Message.
func (*epochResponse) ApiKey() protocol.ApiKey { return protocol.OffsetForLeaderEpoch }

// Broker implements protocol.BrokerMessage: the leader, which is that of all partitions.
func (r *epochRequest) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	t := &r.Topics[0]
	partition, ok := cluster.Topics[t.Topic].Partitions[t.Partitions[0].Partition]
	if !ok {
		return protocol.Broker{ID: -1}, kafkago.UnknownTopicOrPartition
	}
	broker, ok := cluster.Brokers[partition.Leader]
	if !ok {
		return protocol.Broker{ID: -1}, kafkago.LeaderNotAvailable
	}
	return broker, nil
}
