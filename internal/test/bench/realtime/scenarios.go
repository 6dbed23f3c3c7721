package realtime

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/internal/retry"
)

// server is the measured server: our own, or that of Options.URL.
type server struct {
	*process // nil for another server
	url      string
	pid      int
}

func (o *Options) server(ctx context.Context) (*server, error) {
	if o.URL != "" {
		return &server{url: o.URL, pid: o.PID}, nil
	}
	p, err := o.start(ctx, "serve")
	if err != nil {
		return nil, err
	}
	url, err := p.readLine()
	return &server{p, url, p.cmd.Process.Pid}, err
}

func (s *server) stop() {
	if s.process != nil {
		s.process.stop()
	}
}

// setRate sets the rate of changes of our own server.
func (s *server) setRate(rate int) error {
	if s.process == nil {
		return nil
	}
	_, err := s.command("rate " + strconv.Itoa(rate))
	return err
}

// startClients starts a process with n clients.
func (o *Options) startClients(ctx context.Context, url string, n int, more ...string) (*process, error) {
	args := []string{
		"clients", "--url", url, "--token", o.Token, "--connections", strconv.Itoa(n), "--kind", o.Kind,
		"--limit", strconv.Itoa(o.Limit), "--format", o.Format,
	}
	return o.start(ctx, append(args, more...)...)
}

type idleFigures struct {
	Kind        string  `json:"kind"`
	Connections int     `json:"connections"`
	Bytes       int64   `json:"rss_bytes_per_connection"`
	CPU         float64 `json:"cpu_percent_of_a_core_per_10000"`
}

// idle opens connections and measures memory and CPU per connection.
func idle(ctx context.Context, o Options, t *table) error {
	for _, kind := range []string{"websocket", "sse"} {
		o.Kind = kind
		f, err := o.idle(ctx, o.connections(15_000))
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		if err := o.print("idle", f); err != nil {
			return err
		}
		memory := map[string]float64{"websocket": 8, "sse": 20}[kind]
		name := fmt.Sprintf("idle %s, %d: memory per connection", kind, f.Connections)
		t.below(name, "KB", float64(f.Bytes)/1000, memory)
		t.below(fmt.Sprintf("idle %s: CPU per 10,000", kind), "% of a core", f.CPU, 3)
	}
	return nil
}

func (o *Options) idle(ctx context.Context, n int) (f idleFigures, err error) {
	s, err := o.server(ctx)
	if err != nil {
		return f, err
	}
	defer s.stop()
	// The first connections pay for memory that all share.
	for _, part := range []int{min(100, n-1), n} {
		before, err := rss(s.pid)
		if err != nil {
			return f, err
		}
		c, err := o.startClients(ctx, s.url, part)
		if err != nil {
			return f, err
		}
		defer c.stop()
		if _, err := c.await(ctx, 2*time.Minute, func(g figures) bool { return g.Open == int64(part) }); err != nil {
			return f, err
		}
		if part != n {
			continue
		}
		begin, err := cpu(s.pid)
		if err != nil {
			return f, err
		}
		if !retry.Sleep(ctx, o.Duration) {
			return f, ctx.Err()
		}
		used, err := cpu(s.pid)
		if err != nil {
			return f, err
		}
		after, err := rss(s.pid)
		if err != nil {
			return f, err
		}
		f = idleFigures{
			Kind: o.Kind, Connections: n, Bytes: (after - before) / int64(n),
			CPU: 100 * (used - begin).Seconds() / o.Duration.Seconds() * 10_000 / float64(n),
		}
	}
	return f, nil
}

// maximum searches for the maximum number of subscribers with a p99 below one
// second. The largest number is below the usual limit of file descriptors.
func maximum(ctx context.Context, o Options, t *table) error {
	tries := []int{5000, 10_000, 15_000, 19_000}
	if o.Quick {
		tries = []int{20}
	}
	sustained := 0
	defer func() {
		t.note(
			"maximum subscribers with p99 below 1 s",
			fmt.Sprintf("%d, with at most %d tried", sustained, tries[len(tries)-1]),
		)
	}()
	for _, n := range tries {
		f, err := o.hot(ctx, n, 0)
		if err != nil {
			return err
		}
		if err := o.print("max", f); err != nil {
			return err
		}
		if f.P99 > 1000 {
			return nil
		}
		sustained = n
	}
	return nil
}

// storm moves all clients of one node to another at once.
func storm(ctx context.Context, o Options, t *table) error {
	n := o.connections(5000)
	from, err := o.server(ctx)
	if err != nil {
		return err
	}
	defer from.stop()
	to, err := o.server(ctx)
	if err != nil {
		return err
	}
	defer to.stop()
	if from.process == nil {
		return errors.New("this scenario needs its own servers")
	}
	c, err := o.startClients(ctx, from.url, n)
	if err != nil {
		return err
	}
	defer c.stop()
	if _, err := c.await(ctx, 2*time.Minute, func(g figures) bool { return g.Open == int64(n) }); err != nil {
		return err
	}
	if err := to.setRate(o.Rate); err != nil {
		return err
	}
	if _, err := c.command("move " + to.url); err != nil {
		return err
	}
	if _, err := from.command("drain"); err != nil {
		return err
	}
	g, err := c.await(ctx, time.Minute, func(g figures) bool { return g.Back == int64(n) })
	if err != nil {
		return err
	}
	reads, err := to.command("reads")
	if err != nil {
		return err
	}
	count, err := strconv.ParseFloat(strings.TrimSpace(reads), 64)
	if err != nil {
		return fmt.Errorf("parse the number of reads %q: %w", reads, err)
	}
	t.below(fmt.Sprintf("%d clients reconnect at once: until all have a snapshot", n), "s", float64(g.BackMax)/1000, 5)
	t.below(fmt.Sprintf("%d clients reconnect at once: reads of the board", n), "", count, 50)
	return o.print("storm", map[string]any{
		"clients": n, "all_back_ms": g.BackMax, "reads_of_the_board": reads, "failed_dials": g.Errors,
	})
}
