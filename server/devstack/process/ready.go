package process

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
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
	return p.AwaitReadyWithin(ctx, readyTimeout, answers)
}

// AwaitReadyWithin is AwaitReady with another limit.
func (p *Process) AwaitReadyWithin(
	ctx context.Context, limit time.Duration, answers func(context.Context) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
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

// Ports of servers are below those that systems give to outgoing connections (from 32768
// on Linux, 49152 elsewhere): one of those may be taken between the choice of a port and
// the start of its server.
const lowestPort, highestPort = 15000, 32767

// portTries bounds the search; most ports are free.
const portTries = 100

// FreePort returns a free port. If another server takes it first, the start fails.
func FreePort(ctx context.Context) (int, error) {
	var err error
	for range portTries {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		var l net.Listener
		l, err = new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}
