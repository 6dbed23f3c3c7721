// Package filewatch re-reads files when they change.
//
// Promise: files that cannot be read leave those of before in force.
// Owner: who holds what was read runs it. On failure it logs and tries again.
package filewatch

import (
	"context"
	"log/slog"
	"time"
)

// every is how soon a changed file is in force.
const every = 2 * time.Second

// Run has load look whether its files have changed, until ctx ends. what names
// them in the log.
func Run(ctx context.Context, what string, load func() (changed bool, err error), log *slog.Logger) error {
	tick := time.NewTicker(every)
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
			log.Warn(what+" not read; those of before stay in force", "err", err)
		case changed:
			log.Info(what + " read")
		}
	}
}
