package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicIDVersion is the version of the metadata request that has topic ids: Kafka 2.8
// and later.
const topicIDVersion = 10

// maxMetadata bounds a response.
const maxMetadata = 16 << 20

// topicIDs asks for topic ids, which kafka-go does not know.
type topicIDs struct {
	unsupported atomic.Bool // the brokers are older
}

// topicID returns the id of a topic, which changes when it is deleted and created
// again; zero if the brokers do not know ids.
func (c *Client) topicID(ctx context.Context, topic string) (id [16]byte, err error) {
	if c.ids.unsupported.Load() {
		return id, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	for _, broker := range c.o.Brokers {
		if id, err = c.askTopicID(ctx, broker, topic); err == nil {
			return id, nil
		}
	}
	return id, fmt.Errorf("read the id of topic %s: %w", topic, err)
}

func (c *Client) askTopicID(ctx context.Context, broker, topic string) (id [16]byte, err error) {
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", broker)
	if err != nil {
		return id, err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return id, err
		}
	}
	asked := kmsg.NewPtrMetadataRequest()
	asked.SetVersion(topicIDVersion)
	named := kmsg.NewMetadataRequestTopic()
	named.Topic = &topic
	asked.Topics = append(asked.Topics, named)
	if _, err := conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, asked, 1)); err != nil {
		return id, err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		if errors.Is(err, io.EOF) { // how a broker answers a version that it does not know
			c.ids.unsupported.Store(true)
			return id, nil
		}
		return id, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < headerSize || n > maxMetadata {
		return id, fmt.Errorf("a response of %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(conn, body); err != nil {
		return id, err
	}
	answer := asked.ResponseKind().(*kmsg.MetadataResponse)
	answer.SetVersion(topicIDVersion)
	if err := answer.ReadFrom(body[headerSize:]); err != nil {
		return id, err
	}
	for i := range answer.Topics {
		if t := &answer.Topics[i]; t.Topic != nil && *t.Topic == topic && t.ErrorCode == 0 {
			return t.TopicID, nil
		}
	}
	return id, errors.New("topic not found")
}

// headerSize is the correlation id and an empty list of tags.
const headerSize = 4 + 1
