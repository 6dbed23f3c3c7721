package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicIDVersion is the version of the metadata request that has topic ids: Kafka 2.8
// and later.
const topicIDVersion = 10

// maxMetadata bounds a response.
const maxMetadata = 16 << 20

// topicIDs asks for topic ids, which kafka-go does not know.
type topicIDs struct {
	unsupported atomic.Bool  // the brokers are older
	answered    atomic.Int64 // the broker that has answered last, by index; it is asked first
}

// topicID returns the id of a topic, which changes when it is deleted and created
// again; zero if the brokers do not know ids.
func (c *Client) topicID(ctx context.Context, topic string) (id [16]byte, err error) {
	if c.ids.unsupported.Load() {
		return id, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	n := len(c.o.Brokers)
	first := int(c.ids.answered.Load())
	for i := range n {
		broker := (first + i) % n
		if id, err = c.askTopicID(ctx, c.o.Brokers[broker], n-i, topic); err == nil {
			c.ids.answered.Store(int64(broker))
			return id, nil
		}
	}
	return id, fmt.Errorf("read the id of topic %s: %w", topic, err)
}

// askTopicID asks one of the brokers that are left to be asked. It takes no more than an
// equal share of the time: a broker that hangs leaves some to the others.
func (c *Client) askTopicID(ctx context.Context, broker string, left int, topic string) (id [16]byte, err error) {
	if deadline, ok := ctx.Deadline(); ok {
		shareCtx, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
		ctx = shareCtx
	}
	dialCtx, cancel := context.WithTimeout(ctx, dialTimeout)
	conn, err := c.dial(dialCtx, "tcp", broker)
	cancel()
	if err != nil {
		return id, err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return id, err
		}
	}
	ask := func(r kmsg.Request) (kmsg.Response, error) { return exchange(conn, r) }
	if err := c.authenticate(ctx, ask); err != nil {
		return id, err
	}
	asked := kmsg.NewPtrMetadataRequest()
	asked.SetVersion(topicIDVersion)
	named := kmsg.NewMetadataRequestTopic()
	named.Topic = &topic
	asked.Topics = append(asked.Topics, named)
	response, err := ask(asked)
	if errors.Is(err, io.EOF) { // how a broker answers a version that it does not know
		c.ids.unsupported.Store(true)
		return id, nil
	}
	if err != nil {
		return id, err
	}
	answer := response.(*kmsg.MetadataResponse)
	for i := range answer.Topics {
		if t := &answer.Topics[i]; t.Topic != nil && *t.Topic == topic && t.ErrorCode == 0 {
			return t.TopicID, nil
		}
	}
	return id, errors.New("topic not found")
}

// exchange sends a request and reads the response to it.
func exchange(conn net.Conn, request kmsg.Request) (kmsg.Response, error) {
	formatter := kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))
	if _, err := conn.Write(formatter.AppendRequest(nil, request, 1)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	header := uint32(4) // the correlation id
	if request.IsFlexible() {
		header++ // and an empty list of tags
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < header || n > maxMetadata {
		return nil, fmt.Errorf("a response of %d bytes: %w", n, io.ErrUnexpectedEOF) // of TLS, for one
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(conn, body); err != nil {
		return nil, err
	}
	answer := request.ResponseKind()
	answer.SetVersion(request.GetVersion())
	if err := answer.ReadFrom(body[header:]); err != nil {
		return nil, err
	}
	return answer, nil
}
