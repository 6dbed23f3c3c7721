package process

import (
	"context"
	"fmt"
	"net"
	"time"
)

// A start may take long: after a crash a database first replays its log.
const (
	readyPatience = 60 * time.Second
	pollEvery     = 10 * time.Millisecond
)

// AwaitReady polls until the server answers, it ends, or ctx does; a minute
// at most.
func (p *Process) AwaitReady(ctx context.Context, answers func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
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
		case <-time.After(pollEvery):
		}
	}
}

// FreePort asks the system for a port that nobody listens on. Somebody may
// take it before the server does; then the server's start fails, and says so.
func FreePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
