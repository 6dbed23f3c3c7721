package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/internal/test/bench/realtime"
)

// realtime returns the command of the gateway's scenarios. Its hidden commands are
// the processes that the scenarios start.
func (p *program) realtime() *cobra.Command {
	o := &realtime.Options{}
	parent := &cobra.Command{
		Use: "realtime", Short: "Measure the realtime gateway",
		Example: "  scorebench realtime all --duration 20s\n  scorebench realtime hot --connections 5000",
	}
	flags := parent.PersistentFlags()
	flags.StringVar(&o.URL, "url", "", "http:// URL of another server (default starts one)")
	flags.StringVar(&o.Token, "token", "", "bearer token for that server")
	flags.IntVar(&o.PID, "pid", 0, "process id of that server, to measure its CPU time and memory")
	flags.IntVar(&o.Connections, "connections", 0, "number of connections (default of the scenario)")
	flags.DurationVar(&o.Duration, "duration", 30*time.Second, "duration of each measurement")
	flags.IntVar(&o.Rate, "rate", 50, "changes per second of the synthetic board")
	flags.StringVar(&o.Kind, "kind", "websocket", "websocket or sse")
	flags.IntVar(&o.Limit, "limit", 10, "rows per frame")
	flags.StringVar(&o.Format, "format", "", "format of the frames: highscore, delta or plain (default native)")
	flags.BoolVar(&o.Stall, "stall", false, "open connections without reading from them")
	_ = flags.MarkHidden("stall") // for the process of the clients; the flag exists

	prepared := func() realtime.Options {
		o.In, o.Out, o.Err, o.Self, o.Quick = p.in, p.options.Out, p.options.Err, p.options.Self, p.options.Quick
		if o.Quick {
			o.Duration = 500 * time.Millisecond
		}
		return *o
	}
	scenarios := func(use, short string, scenarios ...realtime.Scenario) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Args: cobra.NoArgs, Example: "  scorebench realtime " + use,
			RunE: func(cmd *cobra.Command, _ []string) error {
				Header(cmd.Context(), p.options.Err, "realtime "+use)
				return realtime.Run(cmd.Context(), prepared(), scenarios...)
			},
		}
	}
	process := func(use, short string, run func(context.Context, realtime.Options) error) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Hidden: true, Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), prepared()) },
		}
	}
	for _, s := range realtime.Scenarios {
		parent.AddCommand(scenarios(s.Name, s.Short, s))
	}
	parent.AddCommand(
		scenarios("all", "Run all scenarios", realtime.Scenarios...),
		process("serve", "Serve a synthetic board", realtime.Serve),
		process("clients", "Open connections to a server", realtime.Clients),
	)
	return parent
}
