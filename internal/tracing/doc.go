// Package tracing makes the spans of sampled work and sends them to an OpenTelemetry
// collector (docs/tracing.md). No other package imports the OpenTelemetry SDK.
//
// Promise. A nil [Tracer] is valid and makes no spans, and so is a nil [Span]: its methods do
// nothing. What is not sampled costs a comparison, and has no bytes in the outbox or in
// a record. Which requests are sampled is decided here: a client can force only a few a
// second, whatever it sends.
//
// Assumption. The texts given as parents come from the daemon's own outbox, transports
// and notices, or were checked by [Parent].
//
// Owner. The exporter's goroutine starts with [New] and ends with [Tracer.Close]. Run
// closes the tracer when its context has ended.
//
// On failure. Spans wait in a queue of bounded size. While the collector does not
// answer, spans are dropped, a warning is logged once a minute, and nothing waits.
package tracing
