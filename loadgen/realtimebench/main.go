package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are those of every command; each uses what it needs.
type options struct {
	url, token string
	pid        int
	n          int
	duration   time.Duration
	rate       int
	kind       string
	limit      int
	stall      bool
	table      *table
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "realtimebench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	commands := map[string]func(context.Context, options) error{
		"serve": serve, "clients": clients,
		"idle": idle, "hot": hot, "stalled": stalled, "storm": storm, "most": most, "all": all,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("want one of idle, hot, stalled, storm, most, all")
	}
	var o options
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	f.StringVar(&o.url, "url", "", "a server's http:// address; empty starts one")
	f.StringVar(&o.token, "token", "", "bearer token for it")
	f.IntVar(&o.pid, "pid", 0, "its process, to measure CPU and memory")
	f.IntVar(&o.n, "n", 0, "connections; 0 takes the scenario's target")
	f.DurationVar(&o.duration, "duration", 30*time.Second, "of the measured part")
	f.IntVar(&o.rate, "rate", 50, "changes a second to the synthetic board")
	f.StringVar(&o.kind, "kind", "websocket", "websocket or sse")
	f.IntVar(&o.limit, "limit", 10, "rows that are shown")
	f.BoolVar(&o.stall, "stall", false, "clients: never read")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o.table = &table{}
	err := commands[args[0]](ctx, o)
	if len(o.table.rows) > 0 { // of what was measured before an error, too
		o.table.print(os.Stderr)
	}
	return err
}
