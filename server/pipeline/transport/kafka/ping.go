package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// pinger keeps the connection that the last ping used. kafka-go cannot serve for pings: it
// answers questions about the cluster from memory, also when every broker is dead.
type pinger struct {
	free chan struct{} // holds a token while no ping runs
	conn net.Conn      // nil: none; guarded by free
}

func newPinger() pinger { return pinger{free: make(chan struct{}, 1)} }

// Ping returns nil if a broker answers a request that is sent to it now. The error is a
// *scoreboard.SetupError where a setting is wrong.
func (c *Client) Ping(ctx context.Context) error {
	select {
	case c.ping.free <- struct{}{}:
		defer func() { <-c.ping.free }()
	case <-ctx.Done():
		return fmt.Errorf("ping Kafka: %w", ctx.Err())
	}
	if c.ping.conn != nil && c.answersAgain(ctx) {
		return nil
	}
	conn, err := c.dialAny(ctx)
	if err != nil {
		return fmt.Errorf("ping Kafka: %w", c.explain(err))
	}
	c.ping.conn = conn
	return nil
}

// keptTimeout bounds the answer on the connection of the last ping, so that a broker that
// hangs leaves time to ask the others.
const keptTimeout = 500 * time.Millisecond

// answersAgain asks on the connection of the last ping. A connection that fails is closed.
func (c *Client) answersAgain(ctx context.Context) bool {
	deadline := time.Now().Add(keptTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := askBroker(c.ping.conn, deadline); err != nil {
		c.endPing()
		return false
	}
	return true
}

// askBroker asks for the brokers, which a broker tells only clients that have authenticated.
func askBroker(conn net.Conn, deadline time.Time) error {
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	request := kmsg.NewPtrMetadataRequest()
	request.SetVersion(1)
	request.Topics = []kmsg.MetadataRequestTopic{} // none; nil would be all
	_, err := exchange(conn, request)
	return err
}

// endPing closes the connection of the last ping.
func (c *Client) endPing() {
	if c.ping.conn != nil {
		_ = c.ping.conn.Close()
		c.ping.conn = nil
	}
}

// dialAsking connects to a broker and asks it.
func (c *Client) dialAsking(ctx context.Context, broker string) (net.Conn, error) {
	conn, err := c.dialAnswering(ctx, "tcp", broker)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	deadline, _ := ctx.Deadline() // dialAny sets one
	err = askBroker(conn, deadline)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("ask broker %s: %w", broker, err)
	}
	return conn, nil
}

// dialAny asks all brokers at once and returns a connection to the first that answers.
func (c *Client) dialAny(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	type answer struct {
		conn net.Conn
		err  error
	}
	answers := make(chan answer)
	for _, broker := range c.o.Brokers {
		go func() {
			conn, err := c.dialAsking(ctx, broker)
			select {
			case answers <- answer{conn, err}:
			case <-ctx.Done(): // another one was first
				if conn != nil {
					_ = conn.Close()
				}
			}
		}()
	}
	var failures []error
	for range c.o.Brokers {
		select {
		case a := <-answers:
			if a.err == nil {
				return a.conn, nil
			}
			failures = append(failures, a.err)
		case <-ctx.Done():
			return nil, errors.Join(append(failures, ctx.Err())...)
		}
	}
	return nil, errors.Join(failures...)
}
