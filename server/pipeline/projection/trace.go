package projection

import (
	"context"
	"strconv"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/tracing"
)

// changeSpans are the spans of the sampled changes of a batch; usually there are none.
type changeSpans []changeSpan

type changeSpan struct {
	*tracing.Span
	ctx    context.Context
	change int
}

// trace begins a span for each sampled change of a batch.
func (p *Projection) trace(ctx context.Context, b *batch) (spans changeSpans) {
	for i := range b.changes {
		if b.changes[i].Trace == "" {
			continue
		}
		inner, span := p.tracer.Continue(ctx, b.changes[i].Trace, tracing.Consumer, "apply change")
		if span == nil {
			continue
		}
		r := &b.origins[i]
		span.Set(tracing.String("messaging.operation.type", "process"),
			tracing.String("messaging.destination.name", r.Topic),
			tracing.String("messaging.destination.partition.id", strconv.Itoa(r.Partition)),
			tracing.String("scoreboard.board", string(b.changes[i].Board)),
			tracing.Int("scoreboard.batch.size", len(b.changes)))
		spans = append(spans, changeSpan{span, inner, i})
	}
	return spans
}

// context returns the context of the first sampled change, for the log, else ctx.
func (s changeSpans) context(ctx context.Context) context.Context {
	if len(s) > 0 {
		return s[0].ctx
	}
	return ctx
}

// call begins the spans of one call of Redis, in which the traces go on: the notices that
// the call publishes have them. The returned function ends them.
func (s changeSpans) call(b *batch) func(error) {
	if len(s) == 0 {
		return func(error) {}
	}
	calls := make([]*tracing.Span, len(s))
	for i := range s {
		_, calls[i] = s[i].Child(s[i].ctx, tracing.Client, "apply to ranking")
		if calls[i] != nil {
			calls[i].Set(tracing.String("db.system.name", "redis"))
			b.changes[s[i].change].Trace = calls[i].Traceparent()
		}
	}
	return func(err error) {
		for _, c := range calls {
			if err != nil {
				c.Fail(string(wire.CodeOf(err)))
			}
			c.End()
		}
	}
}

func (s changeSpans) end() {
	for i := range s {
		s[i].End()
	}
}
