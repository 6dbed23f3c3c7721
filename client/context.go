package client

import (
	"context"
	"net/url"
	"time"
)

type reasonKey struct{}

// Because sets the audit trail's reason for changes made with ctx. It is for calls
// without a reason argument.
func Because(ctx context.Context, reason string) context.Context {
	return context.WithValue(ctx, reasonKey{}, reason)
}

// because is the query of a change whose route takes a reason there: the reason that
// Because set, if any.
func because(ctx context.Context) url.Values {
	text, _ := ctx.Value(reasonKey{}).(string)
	query := url.Values{}
	setText(query, "reason", text)
	return query
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
