// Command scoreboardd is the leaderboard's daemon. "scoreboardd dev" starts it with
// its own backends, for development.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/scoreboard/scoreboard/internal/asynclog"
)

// logTime is how long the last lines of the log may take to be written.
const logTime = time.Second

func main() {
	logs := asynclog.New(os.Stderr)
	log.SetOutput(logs)
	// Otherwise the first line after the reader of the log has gone would end the process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
		go returnMemory(ctx)
	}
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := newRoot(logs).ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(logs, "scoreboardd:", err)
	}
	stop()
	logs.Close(logTime)
	switch {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		os.Exit(1)
	}
}
