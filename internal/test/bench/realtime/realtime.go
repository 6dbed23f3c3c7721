// Package realtime measures the realtime gateway on one machine.
//
// The server is another process (Serve), with the real hub and a synthetic
// ranking, so that nothing else is measured; or any server that Options.URL names,
// whose board must be kept busy. The clients are another process too (Clients),
// with several addresses of 127.0.0.0/8, because an address has only about 28,000
// ports. Each process needs a file descriptor per connection.
//
// Latency runs from the commit of a change until a client has read the first frame
// that contains it, by the clock of the machine. It includes the update window,
// and changes that were superseded within one. A frame contains the commit time of
// its newest change; the commits of earlier changes are interpolated. Memory is
// the difference of the server's resident set, without forced garbage collection.
// Each scenario prints its figures as one JSON object.
package realtime

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Options configure a scenario. Serve and Clients use some of them.
type Options struct {
	Out io.Writer // for figures, as JSON
	Err io.Writer // for the table and the messages of child processes
	In  io.Reader // for the commands of Serve and Clients
	// Self is the program that runs Serve as "realtime serve" and Clients as "realtime
	// clients".
	Self string

	URL, Token  string // of another server; empty starts one
	PID         int    // of that server
	Connections int    // 0 is the scenario's default
	Duration    time.Duration
	Rate        int    // changes per second of the synthetic board
	Kind        string // websocket or sse
	Limit       int    // rows per frame
	Format      string // of the frames: highscore, delta or plain; empty is the native one
	Stall       bool   // of Clients: never read
	Quick       bool   // few connections and short waits, to test the bench
}

// Scenario is a measurement.
type Scenario struct {
	Name, Short string
	run         func(context.Context, Options, *table) error
}

// Scenarios are all measurements.
var Scenarios = []Scenario{
	{"idle", "Measure memory and CPU of idle connections", idle},
	{"hot", "Measure the latency of a board that changes all the time", hot},
	{"stalled", "Measure the effect of stalled connections on other connections", stalled},
	{"storm", "Measure the reconnect of all clients of a node", storm},
	{"max", "Search for the maximum number of subscribers with a p99 below one second", maximum},
}

// Run runs scenarios and prints a table of their results.
func Run(ctx context.Context, o Options, scenarios ...Scenario) error {
	if _, ok := frameFields[o.Format]; !ok {
		return fmt.Errorf("--format: %q is not highscore, delta or plain", o.Format)
	}
	t := &table{}
	defer func() {
		if len(t.rows) > 0 { // also what was measured before an error
			t.print(o.Err)
		}
	}()
	for _, s := range scenarios {
		if err := s.run(ctx, o, t); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// print writes the figures of a scenario.
func (o *Options) print(scenario string, figures any) error {
	return json.NewEncoder(o.Out).Encode(map[string]any{"scenario": scenario, "figures": figures})
}

// quick returns the first value, or the second one in quick mode.
func (o *Options) quick(full, quick time.Duration) time.Duration {
	if o.Quick {
		return quick
	}
	return full
}

// connections is the number of connections of a scenario.
func (o *Options) connections(byDefault int) int {
	switch {
	case o.Connections > 0:
		return o.Connections
	case o.Quick:
		return 20
	}
	return byDefault
}
