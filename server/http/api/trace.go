package api

import (
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/internal/tracing"
)

// beginTrace continues the caller's trace, or begins one, and returns its trace context in
// the response. A request that is not sampled has no span.
func (a *API) beginTrace(c *gin.Context) {
	var caller tracing.Parent
	if values := c.Request.Header["Traceparent"]; len(values) == 1 { // of several none can be trusted
		caller, _ = tracing.ParseParent(values[0])
	}
	// Until a route has matched, method and path are any text of the client.
	ctx, span := a.tracer.Root(c.Request.Context(), caller, tracing.Server, "HTTP")
	traceparent := span.Traceparent()
	if span == nil {
		traceparent = caller.Unsampled()
	} else {
		c.Request = c.Request.WithContext(ctx)
		c.Set(keySpan, span)
	}
	c.Set(keyTrace, traceparent)
	c.Writer.Header().Set("Traceparent", traceparent)
}

// endTrace ends the span of a request, if it has one. Calls after the first do nothing.
func endTrace(c *gin.Context) {
	span := spanOf(c)
	if span == nil {
		return
	}
	if route := c.FullPath(); route != "" {
		span.Rename(c.Request.Method + " " + route)
		span.Set(tracing.String("http.request.method", c.Request.Method), tracing.String("http.route", route))
	}
	status := c.Writer.Status()
	span.Set(tracing.Int("http.response.status_code", status),
		tracing.String("scoreboard.request_id", c.GetString(keyRequestID)))
	if status >= http.StatusInternalServerError {
		span.Fail(strconv.Itoa(status))
	}
	span.End()
}

// spanOf returns the span of a request; nil if it is not sampled.
func spanOf(c *gin.Context) *tracing.Span {
	span, _ := c.Get(keySpan)
	s, _ := span.(*tracing.Span)
	return s
}

// logTrace is the key of traceID in log lines.
const logTrace = tracing.LogKey

// requestLog returns a log whose lines name a request by its id and its trace, whether it is sampled
// or not. The specification of a dialect may have the trace under another key, too.
func requestLog(log *slog.Logger, c *gin.Context) *slog.Logger {
	trace := traceID(c)
	log = log.With("request_id", c.GetString(keyRequestID), logTrace, trace)
	if d, ok := c.Get(keyDialect); ok {
		if key := d.(*Dialect).TraceKey; key != "" { //nolint:forcetypeassert // serve sets it
			log = log.With(key, trace)
		}
	}
	return log
}

// traceID returns the id of a request's trace, for the log.
func traceID(c *gin.Context) string { return tracing.TraceID(c.GetString(keyTrace)) }
