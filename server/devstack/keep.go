package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/server/devstack/process"
)

// A child that ends is started again after RestartDelay, so that an outage can be watched. One
// that ends more than maxRestarts times within restartWindow is given up.
const (
	RestartDelay  = 5 * time.Second
	maxRestarts   = 5
	restartWindow = 2 * time.Minute
)

// kept is a child that is started again whenever it ends, on the same port and data.
type kept struct {
	name  string
	delay time.Duration // before each start
	now   *process.Process
	start func(context.Context) (*process.Process, error)
	done  chan struct{} // closed when it is not started any more
}

// keep starts a child again when it ends, until the stack stops.
func (s *Stack) keep(onStop func(func(context.Context) error), log *slog.Logger, k *kept) {
	k.done = make(chan struct{})
	onStop(k.stop)
	go func() {
		defer close(k.done)
		var ended []time.Time
		for {
			select {
			case <-s.stopping:
				return
			case <-k.now.Done():
			}
			ended = slices.DeleteFunc(append(ended, time.Now()), func(at time.Time) bool {
				return time.Since(at) >= restartWindow
			})
			if len(ended) > maxRestarts {
				s.died <- fmt.Errorf("ended %d times within %v: %w", len(ended), restartWindow, k.now.Err())
				return
			}
			log.Warn("backend ended; it is started again", "name", k.name, "after", k.delay.String(),
				"err", k.now.Err())
			if err := s.restart(k); err != nil {
				s.died <- fmt.Errorf("start %s again: %w", k.name, err)
				return
			}
			log.Warn("backend runs again", "name", k.name)
		}
	}()
}

// restart starts a child after a while, unless the stack stops before.
func (s *Stack) restart(k *kept) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	select {
	case <-s.stopping:
		return nil
	case <-time.After(k.delay):
	}
	p, err := k.start(ctx)
	if ctx.Err() != nil && err != nil {
		return nil // stopped meanwhile
	}
	if err == nil {
		k.now = p
	}
	return err
}

// stop stops the child once nobody starts it any more.
func (k *kept) stop(ctx context.Context) error {
	<-k.done
	return k.now.Stop(ctx)
}

// Kill kills a backend of the stack that runs on a directory: postgres or redis, like a power
// failure. The stack starts it again.
func Kill(dir, backend string) error {
	if backend != "postgres" && backend != "redis" {
		return fmt.Errorf("unknown backend %q: must be postgres or redis", backend)
	}
	err := process.KillOwner(lockOf(filepath.Join(dir, backend), backend))
	if errors.Is(err, process.ErrNotHeld) {
		return fmt.Errorf("no development stack with a %s of its own runs on %s", backend, dir)
	}
	return err
}

// lockOf is the lock file of the backend whose files are in dir. Its processes hold it.
func lockOf(dir, backend string) string { return filepath.Join(dir, backend+".lock") }
