package client

import (
	"context"
	"time"
)

type reasonKey struct{}

// Because sets the audit trail's reason for changes made with ctx. It is for calls
// without a reason argument.
func Because(ctx context.Context, reason string) context.Context {
	return context.WithValue(ctx, reasonKey{}, reason)
}

// reason returns the reason that Because set, or "".
func reason(ctx context.Context) string {
	text, _ := ctx.Value(reasonKey{}).(string)
	return text
}

type retryAfterKey struct{}

// OnRetryAfter makes calls with ctx report each wait that the server asked for with
// Retry-After, and the error that it follows. Concurrent calls report concurrently.
func OnRetryAfter(ctx context.Context, notify func(time.Duration, *Error)) context.Context {
	return context.WithValue(ctx, retryAfterKey{}, notify)
}

// notifyRetryAfter calls the function that OnRetryAfter set.
func notifyRetryAfter(ctx context.Context, e *Error) {
	if notify, _ := ctx.Value(retryAfterKey{}).(func(time.Duration, *Error)); notify != nil && e.RetryAfter > 0 {
		notify(e.RetryAfter, e)
	}
}
