// Command sbctl is the toolkit of scoreboard: it submits, reads and watches
// scores, load-tests a server and operates one.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
)

func main() {
	logging.Disable() // the Redis client's: it prints to stderr what is an error of its caller, too
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal cancels the context, so that the command can finish work in
	// flight. Signals then have their default effect: a second one ends it at once.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
	stop()
	os.Exit(code)
}
