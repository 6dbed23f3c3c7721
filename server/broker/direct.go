package broker

import (
	"context"
	"errors"
)

// Direct carries messages within the process, without a broker: they are
// acknowledged when they are handled. What is not stays in the outbox.
type Direct struct{ turn chan *order }

// order is what a producer waits for.
type order struct {
	ctx     context.Context
	records []Record
	done    chan answer
}

type answer struct {
	n   int
	err error
}

// NewDirect makes the transport of one process that relays and projects.
func NewDirect() *Direct { return &Direct{turn: make(chan *order)} }

var errHeld = errors.New("the consumer holds this record")

// Produce has messages handled, and returns how many from the front were.
func (d *Direct) Produce(ctx context.Context, messages []Message) (int, error) {
	o := &order{ctx: ctx, done: make(chan answer, 1)}
	for i, m := range messages {
		o.records = append(o.records, Record{Offset: int64(i), Key: m.Key, Value: m.Value})
	}
	select {
	case d.turn <- o:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	a := <-o.done
	return a.n, a.err
}

// Broadcast has one value handled.
func (d *Direct) Broadcast(ctx context.Context, key, value []byte) error {
	_, err := d.Produce(ctx, []Message{{Key: key, Value: value}})
	return err
}

func (d *Direct) count(context.Context) (int, error) { return 1, nil }

// Consume handles what is produced until ctx ends.
func (d *Direct) Consume(ctx context.Context, handle Handler) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case o := <-d.turn:
			// It ends with the producer's patience, or with the consumer.
			both, cancel := context.WithCancel(o.ctx)
			stop := context.AfterFunc(ctx, cancel)
			held, err := handle(both, o.records)
			stop()
			cancel()
			a := answer{len(o.records), err}
			if first, is := held[0]; is {
				a = answer{int(first), errHeld}
			}
			if err != nil {
				a.n = 0
			}
			o.done <- a
		}
	}
}
