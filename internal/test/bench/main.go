// Command scorebench measures scoreboard: writes, reads, the pipeline, the
// realtime gateway, the load generator and sbctl. Build scoreboardd and sbctl
// first; make bench and the other bench targets do.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scorebench:", err)
		os.Exit(1)
	}
	p := &program{in: os.Stdin, options: Options{Out: os.Stdout, Err: os.Stderr, Self: self}}
	if err := p.root().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "scorebench:", err)
		stop()
		os.Exit(1)
	}
}

// program is the state that the commands share. Flags set the options.
type program struct {
	in      io.Reader
	options Options
}
