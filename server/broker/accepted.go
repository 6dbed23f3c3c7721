package broker

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Accepted takes increments that are answered with 202 onto a topic, keyed by
// user.
type Accepted struct{ producer *Producer }

// NewAccepted publishes through p, which the caller closes.
func NewAccepted(p *Producer) *Accepted { return &Accepted{producer: p} }

// Accept writes increments and returns how many from the front are safe.
func (a *Accepted) Accept(ctx context.Context, batch []scoreboard.Increment, at time.Time) (int, error) {
	messages := make([]Message, len(batch))
	for i := range batch {
		in := &batch[i]
		messages[i] = Message{
			Key: []byte(in.User), Value: protocol.EncodeAccepted(in, at),
			Headers: []Header{{Key: "event_id", Value: []byte(in.Event.Text)}, {Key: "traceparent", Value: []byte(in.Trace)}},
		}
	}
	return a.producer.Produce(ctx, messages)
}
