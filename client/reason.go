package client

import "context"

type reasonKey struct{}

// Because has what an operator changes with ctx say why, for the audit trail. It
// is for what has no reason among its arguments.
func Because(ctx context.Context, reason string) context.Context {
	return context.WithValue(ctx, reasonKey{}, reason)
}

// reason is what Because was told; "" where it was not.
func reason(ctx context.Context) string {
	text, _ := ctx.Value(reasonKey{}).(string)
	return text
}
