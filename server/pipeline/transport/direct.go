package transport

import (
	"context"
	"errors"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Direct implements Producer and Consumer. It has one
// partition, and offsets count from 0 in each batch.
type Direct struct{ batches chan *batch }

type batch struct {
	ctx     context.Context // the producer's
	records []scoreboard.Record
	done    chan result
}

type result struct {
	handled int
	err     error
}

// NewDirect returns the transport of one process.
func NewDirect() *Direct { return &Direct{batches: make(chan *batch)} }

var errPaused = errors.New("the consumer has paused at this record")

// Produce waits until the messages are handled, and returns how many from the
// front were.
func (t *Direct) Produce(ctx context.Context, messages []Message) (int, error) {
	b := &batch{ctx: ctx, done: make(chan result, 1)}
	for i, m := range messages {
		b.records = append(b.records, scoreboard.Record{
			Topic: "direct", Offset: int64(i), Key: m.Key, Value: m.Value, Trace: TraceOf(m.Headers),
		})
	}
	select {
	case t.batches <- b:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	r := <-b.done
	return r.handled, r.err
}

// Broadcast has one message handled.
func (t *Direct) Broadcast(ctx context.Context, key, value []byte) error {
	_, err := t.Produce(ctx, []Message{{Key: key, Value: value}})
	return err
}

// Partitions is always 1.
func (t *Direct) Partitions(context.Context) (int, error) { return 1, nil }

// Intact implements projection.Source: there is no log to replace.
func (t *Direct) Intact(context.Context) bool { return true }

// Consume handles what is produced until ctx ends.
func (t *Direct) Consume(ctx context.Context, handle Handler) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case b := <-t.batches:
			// Handling ends with the producer's context or the consumer's.
			both, cancel := context.WithCancel(b.ctx)
			stop := context.AfterFunc(ctx, cancel)
			paused, err := handle(both, b.records)
			stop()
			cancel()
			r := result{len(b.records), err}
			if first, ok := paused[0]; ok {
				r = result{int(first), errPaused}
			}
			if err != nil {
				r.handled = 0
			}
			b.done <- r
		}
	}
}

// MeasureLag is always 0: what is not handled was never taken.
func (t *Direct) MeasureLag(context.Context) (int64, error) { return 0, nil }
