package transport

import (
	"context"

	"github.com/scoreboard/scoreboard/internal/tracing"
)

// HeaderTrace is the header of a message that has the W3C traceparent of a sampled
// request.
const HeaderTrace = "traceparent"

// TraceOf returns the trace context in the headers of a message, "" for none.
func TraceOf(headers []Header) string {
	for i := range headers {
		if headers[i].Key == HeaderTrace {
			return string(headers[i].Value)
		}
	}
	return ""
}

// publishing are the spans of the sampled messages of one call of Produce.
type publishing []publishSpan

type publishSpan struct {
	*tracing.Span
	message int
}

// begin begins the span of a message, and returns the trace context for its consumers.
func (p *publishing) begin(
	ctx context.Context, t *tracing.Tracer, trace, name string, message int, attributes ...tracing.Attribute,
) string {
	_, span := t.Continue(ctx, trace, tracing.Producer, name)
	if span == nil {
		return trace // of a request that another process has sampled
	}
	span.Set(tracing.String("messaging.operation.type", "send"))
	span.Set(attributes...)
	*p = append(*p, publishSpan{span, message})
	return span.Traceparent()
}

// end ends the spans. The first n messages were acknowledged.
func (p publishing) end(n int) {
	for _, s := range p {
		if s.message >= n {
			s.Fail("not_acknowledged")
		}
		s.End()
	}
}
