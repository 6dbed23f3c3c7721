package transport

import (
	"context"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/internal/tracing"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Events publishes changes, keyed by user.
type Events struct {
	producer Producer
	tracer   *tracing.Tracer
	name     string // of the transport, in spans
}

// NewEvents publishes through p, which the caller closes.
func NewEvents(p Producer) *Events { return &Events{producer: p} }

// NewTracedEvents is NewEvents with a span for each sampled change; name is the
// transport's.
func NewTracedEvents(p Producer, tracer *tracing.Tracer, name string) *Events {
	return &Events{producer: p, tracer: tracer, name: name}
}

// Publish writes changes and returns how many from the front were
// acknowledged.
func (e *Events) Publish(ctx context.Context, changes []scoreboard.Change) (int, error) {
	messages := make([]Message, len(changes))
	buffer := make([]byte, 0, 384*len(changes))
	spans := make(publishing, 0)
	for i := range changes {
		c := &changes[i]
		start := len(buffer)
		buffer = protocol.AppendEvent(buffer, c)
		id := scoreboard.FormatUUID(c.Event)
		messages[i] = Message{
			Key: []byte(c.User), Value: buffer[start:len(buffer):len(buffer)],
			Headers: []Header{{Key: "event_id", Value: []byte(id)}},
		}
		if trace := tracing.Sampled(c.Trace); trace != "" {
			trace = spans.begin(ctx, e.tracer, trace, "publish change", i,
				tracing.String("scoreboard.transport", e.name), tracing.String("scoreboard.board", string(c.Board)))
			messages[i].Headers = append(messages[i].Headers, Header{Key: HeaderTrace, Value: []byte(trace)})
		}
	}
	n, err := e.producer.Produce(ctx, messages)
	spans.end(n)
	return n, err
}

// Heartbeat tells every partition up to which time the outbox is published.
func (e *Events) Heartbeat(ctx context.Context, h scoreboard.Heartbeat) error {
	n, err := e.producer.Partitions(ctx)
	if err != nil {
		return err
	}
	h.Partitions = n
	return e.producer.Broadcast(ctx, []byte("heartbeat"), protocol.AppendHeartbeat(nil, h))
}

// Accepted publishes increments that are answered with 202, keyed by user.
type Accepted struct {
	producer Producer
	tracer   *tracing.Tracer
}

// NewAccepted publishes through p, which the caller closes, with a span for each sampled
// increment.
func NewAccepted(p Producer, tracer *tracing.Tracer) *Accepted { return &Accepted{p, tracer} }

// Accept writes increments, with the time at which each was accepted, and returns how
// many from the front were acknowledged.
func (a *Accepted) Accept(ctx context.Context, batch []scoreboard.Increment) (int, error) {
	messages := make([]Message, len(batch))
	spans := make(publishing, 0)
	for i := range batch {
		in := batch[i]
		headers := []Header{{Key: "event_id", Value: []byte(in.Event.Text)}}
		if in.Trace != "" {
			in.Trace = spans.begin(ctx, a.tracer, in.Trace, "publish increment", i)
			headers = append(headers, Header{Key: HeaderTrace, Value: []byte(in.Trace)})
		}
		messages[i] = Message{Key: []byte(in.User), Value: protocol.EncodeAccepted(&in), Headers: headers}
	}
	n, err := a.producer.Produce(ctx, messages)
	spans.end(n)
	return n, err
}

// Notices publishes the state of boards, keyed by board, so that the topic can
// be compacted to the last notice of each.
type Notices struct{ producer Producer }

// NewNotices publishes through p, which the caller closes.
func NewNotices(p Producer) *Notices { return &Notices{producer: p} }

// Announce writes all notices or returns an error.
func (n *Notices) Announce(ctx context.Context, notices []scoreboard.Notice) error {
	messages := make([]Message, len(notices))
	for i := range notices {
		messages[i] = Message{Key: []byte(notices[i].Board), Value: protocol.EncodeNotice(&notices[i])}
		if trace := notices[i].Trace; trace != "" {
			messages[i].Headers = []Header{{Key: HeaderTrace, Value: []byte(trace)}}
		}
	}
	_, err := n.producer.Produce(ctx, messages)
	return err
}

// Seasons publishes the ends of periods, keyed by board instance.
type Seasons struct{ producer Producer }

// NewSeasons publishes through p, which the caller closes.
func NewSeasons(p Producer) *Seasons { return &Seasons{producer: p} }

// AnnounceClosed writes one end of a period. It returns nil once that is
// acknowledged.
func (s *Seasons) AnnounceClosed(ctx context.Context, e *scoreboard.EndedPeriod) error {
	_, err := s.producer.Produce(ctx, []Message{{
		Key: []byte(e.Board.ID), Value: protocol.EncodeSeasonClosed(e),
		Headers: []Header{{Key: "event_id", Value: []byte(scoreboard.FormatUUID(e.EventID().UUID))}},
	}})
	return err
}

// Feed publishes changes in the format of other specifications, for the role mirror.
type Feed struct {
	producer Producer
	encode   func(*scoreboard.Change) Message
}

// NewScoreFeed publishes changes of one board as specification E has them, keyed by
// user, through p, which the caller closes.
func NewScoreFeed(p Producer) *Feed {
	return &Feed{p, func(c *scoreboard.Change) Message {
		return Message{Key: []byte(c.User), Value: protocol.AppendScoreEvent(nil, c)}
	}}
}

// NewHighscoreFeed publishes changes of one board as specification B has them, keyed by user,
// through p, which the caller closes.
func NewHighscoreFeed(p Producer) *Feed {
	return &Feed{p, func(c *scoreboard.Change) Message {
		return Message{Key: []byte(c.User), Value: protocol.AppendHighscoreEvent(nil, c)}
	}}
}

// NewCloudEventsFeed publishes changes as CloudEvents, keyed by board and user, through
// p, which the caller closes.
func NewCloudEventsFeed(p Producer) *Feed {
	return &Feed{p, func(c *scoreboard.Change) Message {
		return Message{
			Key: []byte(protocol.CloudEventKey(c)), Value: protocol.AppendCloudEvent(nil, c),
			Headers: []Header{{Key: "content-type", Value: []byte(protocol.CloudEventContentType)}},
		}
	}}
}

// Write writes changes and returns how many from the front were acknowledged.
func (f *Feed) Write(ctx context.Context, changes []scoreboard.Change) (int, error) {
	messages := make([]Message, len(changes))
	for i := range changes {
		messages[i] = f.encode(&changes[i])
	}
	return f.producer.Produce(ctx, messages)
}

// DeadLetters publishes records that could not be processed.
type DeadLetters struct{ producer Producer }

// NewDeadLetters publishes through p, which the caller closes.
func NewDeadLetters(p Producer) *DeadLetters { return &DeadLetters{producer: p} }

// Add writes a record with its origin and the reason as headers.
func (d *DeadLetters) Add(ctx context.Context, letter *scoreboard.DeadLetter) error {
	partition := []byte(strconv.Itoa(letter.Partition))
	_, err := d.producer.Produce(ctx, []Message{{
		Key: partition, Value: letter.Value,
		Headers: []Header{
			{Key: "reason", Value: []byte(letter.Reason)},
			{Key: "partition", Value: partition},
			{Key: "offset", Value: []byte(strconv.FormatInt(letter.Offset, 10))},
			{Key: "dead_lettered_at", Value: []byte(time.Now().UTC().Format(time.RFC3339Nano))},
		},
	}})
	return err
}
