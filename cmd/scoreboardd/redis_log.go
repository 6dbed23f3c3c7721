package main

import (
	"context"
	"fmt"
	"log/slog"
)

// redisLog receives what the Redis client logs of its own accord, which is about
// connections. Their errors reach the callers as well.
type redisLog struct{ log *slog.Logger }

// Printf implements the client's logger.
func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, "Redis client", "detail", fmt.Sprintf(format, v...))
}
