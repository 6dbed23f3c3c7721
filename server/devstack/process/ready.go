package process

import (
	"context"
	"fmt"
	"net"
	"time"
)

// After a crash, a database replays its log before it is ready.
const (
	readyTimeout = 60 * time.Second
	pollInterval = 10 * time.Millisecond
)

// AwaitReady polls until the server answers, it ends or ctx ends, for at most a
// minute.
func (p *Process) AwaitReady(ctx context.Context, answers func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		err := answers(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("wait for %s to answer: %w", p.name, p.Err())
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to answer: %w, last %w", p.name, ctx.Err(), err)
		case <-time.After(pollInterval):
		}
	}
}

// FreePort returns a free port. If another process takes it first, the start of the
// server fails.
func FreePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
