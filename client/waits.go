package client

import (
	"context"
	"time"
)

type waitsKey struct{}

// TellWaits has calls with ctx tell when they wait before another try because
// the server asks for it (Retry-After): how long, and what it refused. Calls in
// parallel tell in parallel.
func TellWaits(ctx context.Context, tell func(time.Duration, *Error)) context.Context {
	return context.WithValue(ctx, waitsKey{}, tell)
}

// tellWait tells who wants to know that a refusal is waited out.
func tellWait(ctx context.Context, e *Error) {
	if tell, _ := ctx.Value(waitsKey{}).(func(time.Duration, *Error)); tell != nil && e.RetryAfter > 0 {
		tell(e.RetryAfter, e)
	}
}
