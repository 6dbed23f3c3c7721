// Package kafka is the transport over Apache Kafka: producers, group consumers,
// the retained log of a topic, and followers of the topic of notices. No other
// package imports kafka-go.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/scoreboard/scoreboard/internal/tlsfiles"
)

// Options are the settings of the connection to Kafka.
type Options struct {
	Brokers []string
	Timeout time.Duration // of one request
	// Compression is none, gzip, snappy, lz4 or zstd. Acks is all, or one: the
	// leader alone acknowledges, and what it has acknowledged may be lost with it.
	Compression, Acks string
	TLS               *tlsfiles.Client // nil: connections are not encrypted
	SASL              *SASL            // nil: the client does not authenticate
}

// dialTimeout bounds the connection to a broker.
const dialTimeout = 2 * time.Second

// Client is a connection to one cluster. Close it after its producers and
// consumers.
type Client struct {
	o         Options
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
	mechanism sasl.Mechanism // nil: no SASL
	transport *kafkago.Transport
	api       *kafkago.Client
	ids       topicIDs
	ping      pinger
}

// metadataTTL is how old the brokers and leaders may be that the client knows. By default
// kafka-go caches for six seconds that a topic is unknown.
const metadataTTL = 250 * time.Millisecond

// clientID is what brokers know this client by, in quotas and logs.
const clientID = "scoreboard"

// New returns a client, which connects when it is used.
func New(o Options) *Client {
	c := &Client{
		o: o, ping: newPinger(),
		dial: (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
	}
	if o.TLS != nil {
		c.dial = o.TLS.Dial
	}
	if o.SASL != nil {
		c.mechanism = o.SASL.mechanism
	}
	c.transport = &kafkago.Transport{
		MetadataTTL: metadataTTL, IdleTimeout: time.Minute, DialTimeout: dialTimeout, ClientID: clientID,
		Dial: c.dial, SASL: c.mechanism,
	}
	c.api = &kafkago.Client{Addr: kafkago.TCP(o.Brokers...), Transport: c.transport, Timeout: o.Timeout}
	return c
}

// Close closes the idle connections, each of which keeps goroutines.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.ping.free <- struct{}{} // a ping ends within its time
	c.endPing()
	<-c.ping.free
}

// partitions counts the partitions of a topic.
func (c *Client) partitions(ctx context.Context, topic string) (int, error) {
	leaders, err := c.leaders(ctx, topic)
	return len(leaders), err
}

// leaders returns the broker that leads each partition of a topic, -1 for none. A topic
// that was created a moment ago may not be known yet, so it waits up to two seconds.
func (c *Client) leaders(ctx context.Context, topic string) ([]int, error) {
	var last error
	for range 40 {
		m, err := c.api.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{topic}})
		switch {
		case err != nil:
			return nil, fmt.Errorf("count the partitions of %s: %w", topic, err)
		case len(m.Topics) == 1 && m.Topics[0].Error == nil && len(m.Topics[0].Partitions) > 0:
			return leadersOf(m.Topics[0].Partitions), nil
		case len(m.Topics) == 1:
			last = m.Topics[0].Error
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("count the partitions of %s: %w", topic, errors.Join(last, errors.New("topic not found")))
}

func leadersOf(partitions []kafkago.Partition) []int {
	leaders := make([]int, len(partitions))
	for i := range leaders {
		leaders[i] = -1
	}
	for i := range partitions {
		p := &partitions[i]
		if p.ID < len(leaders) && p.Error == nil && p.Leader.Host != "" {
			leaders[p.ID] = p.Leader.ID
		}
	}
	return leaders
}

// dialer is used by groups, which do not use the client's connections.
func (c *Client) dialer() *kafkago.Dialer {
	return &kafkago.Dialer{Timeout: dialTimeout, ClientID: clientID, DialFunc: c.dialAnswering}
}

// dialAnswering connects to a broker, authenticates, and returns the connection only if
// the broker has answered. One that hangs still takes connections, and kafka-go's group
// asks the first broker to which it can connect, without a limit for authentication.
func (c *Client) dialAnswering(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // it has passed
	defer stop()
	ask := func(r kmsg.Request) (kmsg.Response, error) { return exchange(conn, r) }
	if deadline, ok := ctx.Deadline(); ok {
		err = conn.SetDeadline(deadline)
	}
	if err == nil && c.mechanism == nil {
		_, err = ask(kmsg.NewPtrApiVersionsRequest())
	}
	if err == nil {
		err = c.authenticate(ctx, ask)
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("connect to broker %s: %w", address, err)
	}
	return conn, nil
}
