package kafka

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// FetchOnce makes one request for partitions of a topic from offsets on, in this order.
func (c *Client) FetchOnce(ctx context.Context, topic string, next map[int]*int64, order ...int) error {
	f := &fetcher{
		client: c, topic: topic, next: make(map[int]*cursor, len(next)),
		take: func(context.Context, []scoreboard.Record) error { return nil },
	}
	for p, offset := range next {
		f.next[p] = &cursor{*offset, unknownEpoch}
	}
	_, err := f.fetch(ctx, order)
	for p, offset := range next {
		*offset = f.next[p].offset
	}
	return err
}

// CheckEvery sets the interval of the stall detector.
func (c *Consumer) CheckEvery(interval time.Duration) *Consumer {
	c.checkEvery = interval
	return c
}

// ErrCut is in the chain of an error that means: the log was cut.
var ErrCut = errCut

// Reading reads a topic's only partition from its start on, by one request in each call,
// which returns the next offset.
func (c *Client) Reading(topic string) func(context.Context) (next int64, err error) {
	at := &cursor{0, unknownEpoch}
	f := &fetcher{
		client: c, topic: topic, next: map[int]*cursor{0: at},
		take: func(context.Context, []scoreboard.Record) error { return nil },
	}
	return func(ctx context.Context) (int64, error) {
		_, err := f.fetch(ctx, []int{0})
		return at.offset, err
	}
}
