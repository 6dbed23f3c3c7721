package share

import "context"

type callerKey struct{}

// WithCaller returns a context of what is done for a caller; all callers with the name "" are
// one.
func WithCaller(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, callerKey{}, name)
}

// callerOf returns the caller of a context; false for work of the process itself.
func callerOf(ctx context.Context) (name string, ok bool) {
	name, ok = ctx.Value(callerKey{}).(string)
	return name, ok
}
