package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Kind is a span's relation to its parent and children.
type Kind trace.SpanKind

// The kinds of OpenTelemetry.
const (
	Internal = Kind(trace.SpanKindInternal)
	Server   = Kind(trace.SpanKindServer)
	Client   = Kind(trace.SpanKindClient)
	Producer = Kind(trace.SpanKindProducer)
	Consumer = Kind(trace.SpanKindConsumer)
)

// Attribute describes a span. No attribute names a user or an event.
type Attribute = attribute.KeyValue

// String makes an attribute.
func String(key, value string) Attribute { return attribute.String(key, value) }

// Int makes an attribute.
func Int(key string, value int) Attribute { return attribute.Int(key, value) }

// Span is a part of a sampled trace. The methods of nil do nothing.
type Span struct {
	span   trace.Span
	tracer *Tracer
}

// Child begins a span within s, nil if s is nil.
func (s *Span) Child(ctx context.Context, kind Kind, name string) (context.Context, *Span) {
	if s == nil {
		return ctx, nil
	}
	return s.tracer.start(trace.ContextWithSpan(ctx, s.span), kind, name)
}

// Traceparent is the W3C traceparent with which others continue the trace; "" for nil.
func (s *Span) Traceparent() string {
	if s == nil {
		return ""
	}
	c := s.span.SpanContext()
	return format(c.TraceID(), c.SpanID(), c.TraceFlags())
}

// Link adds a link from the span in ctx, if there is one and it has not ended, to s.
func Link(ctx context.Context, s *Span) {
	if s != nil {
		trace.SpanFromContext(ctx).AddLink(trace.Link{SpanContext: s.span.SpanContext()})
	}
}

// Rename sets the name, where it is known only later.
func (s *Span) Rename(name string) {
	if s != nil {
		s.span.SetName(name)
	}
}

// Set adds attributes.
func (s *Span) Set(attributes ...Attribute) {
	if s != nil {
		s.span.SetAttributes(attributes...)
	}
}

// Fail marks the span as failed, by an error's code: the text of an error may name users.
func (s *Span) Fail(code string) {
	if s != nil {
		s.span.SetStatus(codes.Error, code)
		s.span.SetAttributes(attribute.String("error.type", code))
	}
}

// End ends the span and queues it for export.
func (s *Span) End() {
	if s != nil {
		s.span.End()
	}
}
