package kafka

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// FetchOnce makes one request for partitions of a topic from offsets on, in this order.
func (c *Client) FetchOnce(ctx context.Context, topic string, next map[int]*int64, order ...int) error {
	f := &fetcher{
		client: c, topic: topic, next: next,
		take: func(context.Context, []scoreboard.Record) error { return nil },
	}
	_, err := f.fetch(ctx, order)
	return err
}

// CheckEvery sets the interval of the stall detector.
func (c *Consumer) CheckEvery(interval time.Duration) *Consumer {
	c.checkEvery = interval
	return c
}
