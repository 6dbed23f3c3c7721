// Package filewatch reloads files when they change.
//
// Promise: a file that cannot be read leaves the loaded content in use. Owner: the
// component that uses the content calls Run. On failure it logs and retries.
package filewatch

import (
	"context"
	"log/slog"
	"time"
)

// interval bounds the delay until a change takes effect.
const interval = 2 * time.Second

// Run calls load at an interval until ctx ends. load reports whether the files have
// changed; name identifies them in the log.
func Run(ctx context.Context, name string, load func() (changed bool, err error), log *slog.Logger) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		changed, err := load()
		switch {
		case err != nil:
			log.Warn(name+" not reloaded; the previous content stays in use", "err", err)
		case changed:
			log.Info(name + " reloaded")
		}
	}
}
