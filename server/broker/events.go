package broker

import (
	"context"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Way is one way that messages are carried: Kafka's Producer, Streams or
// Direct.
type Way interface {
	Produce(ctx context.Context, messages []Message) (int, error)
	Broadcast(ctx context.Context, key, value []byte) error
	count(ctx context.Context) (int, error) // of partitions
}

// Events publishes changes, keyed by user.
type Events struct{ producer Way }

// NewEvents publishes by a way, which the caller closes.
func NewEvents(w Way) *Events { return &Events{producer: w} }

// Publish writes changes and returns how many from the front were
// acknowledged.
func (e *Events) Publish(ctx context.Context, changes []scoreboard.Change) (int, error) {
	messages := make([]Message, len(changes))
	buffer := make([]byte, 0, 384*len(changes))
	for i := range changes {
		c := &changes[i]
		start := len(buffer)
		buffer = protocol.AppendEvent(buffer, c)
		id := scoreboard.FormatUUID(c.Event)
		messages[i] = Message{
			Key: []byte(c.User), Value: buffer[start:len(buffer):len(buffer)],
			Headers: []Header{{Key: "event_id", Value: []byte(id)}},
		}
		if c.Trace != "" {
			messages[i].Headers = append(messages[i].Headers, Header{Key: "traceparent", Value: []byte(c.Trace)})
		}
	}
	return e.producer.Produce(ctx, messages)
}

// Heartbeat tells every partition how far the outbox has been published.
func (e *Events) Heartbeat(ctx context.Context, h scoreboard.Heartbeat) error {
	n, err := e.producer.count(ctx)
	if err != nil {
		return err
	}
	h.Partitions = n
	return e.producer.Broadcast(ctx, []byte("heartbeat"), protocol.AppendHeartbeat(nil, h))
}
