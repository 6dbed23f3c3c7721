// Command scoreboardd is the leaderboard's daemon. "scoreboardd dev" starts it with
// its own backends, for development.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
		go returnMemory(ctx)
	}
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	root := newRoot()
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "scoreboardd:", err)
		stop()
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}
