package realtime

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/internal/tracing"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// messageTrace is the trace of one change, from its notice to the first message that shows
// it. A board has one at most until it publishes, so its window bounds their number.
type messageTrace struct {
	tracer  *tracing.Tracer
	parent  string // W3C traceparent
	board   scoreboard.BoardID
	noticed time.Time
	sent    atomic.Bool
}

// newMessageTrace returns nil where no spans are made.
func newMessageTrace(t *tracing.Tracer, n *scoreboard.Notice, now time.Time) *messageTrace {
	if t == nil {
		return nil
	}
	return &messageTrace{tracer: t, parent: n.Trace, board: n.Board, noticed: now}
}

// end makes the span when the first message is written; nil and later messages make none.
func (t *messageTrace) end(as Encoding) {
	if t == nil || t.sent.Swap(true) {
		return
	}
	_, span := t.tracer.ContinueSince(context.Background(), t.parent, tracing.Internal, "send message", t.noticed)
	span.Set(tracing.String("scoreboard.board", string(t.board)),
		tracing.String("scoreboard.transport", transports[as]))
	span.End()
}
