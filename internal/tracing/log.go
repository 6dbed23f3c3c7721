package tracing

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// LogKey is the key of the trace's id in log lines.
const LogKey = "trace_id"

// logHandler adds the id of the trace in the context to lines that do not have it.
type logHandler struct{ slog.Handler }

// NewLogHandler returns h with the id of the context's trace on every line.
func NewLogHandler(h slog.Handler) slog.Handler { return logHandler{h} }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if c := trace.SpanContextFromContext(ctx); c.HasTraceID() && !hasTrace(&r) {
		r.AddAttrs(slog.String(LogKey, c.TraceID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func hasTrace(r *slog.Record) (has bool) {
	r.Attrs(func(a slog.Attr) bool {
		has = a.Key == LogKey
		return !has
	})
	return has
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(a []slog.Attr) slog.Handler { return logHandler{h.Handler.WithAttrs(a)} }

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
