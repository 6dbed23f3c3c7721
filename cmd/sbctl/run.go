package main

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/internal/tracing"
)

// program is one run of sbctl. It holds everything that a run touches, so that
// tests can run commands in process.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            map[string]string
	args           []string // the command line

	server  string // the global flags
	output  string
	profile string
	yes     bool
	quiet   bool
	curl    bool
	color   string
	repeats bool // prints one result after another

	style         style
	printedHeader bool // of CSV

	conn *connection // resolved on first use

	tracer *tracing.Tracer // nil without a collector
	span   *tracing.Span   // of the command
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr, env: map[string]string{}, args: args}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		p.env[name] = value
	}
	root := newRootCmd(p)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	p.endTrace(cmd, err)
	return p.finish(ctx, cmd, err)
}

// client returns a client of the connection's server.
func (p *program) client() (*client.Client, error) {
	s, err := p.connection()
	if err != nil {
		return nil, err
	}
	o := client.Options{
		Token: s.Token.Value, KeyID: s.KeyID.Value, KeySecret: s.KeySecret.Value,
		UserAgent: "sbctl/" + buildinfo.Read().Version,
	}
	parent, err := p.traceparent()
	if err != nil {
		return nil, err
	}
	if parent != "" {
		o.Traceparent = func(context.Context) string { return parent }
	}
	if p.curl {
		o.HTTP, o.Attempts = client.NewHTTP(curlPrinter{p}), 1
	}
	c, err := client.New(s.Server.Value, o)
	if err != nil {
		return nil, usagef("%w", err)
	}
	return c, nil
}

// withClient adapts a function that needs a client to a command's RunE.
func (p *program) withClient(
	do func(cmd *cobra.Command, c *client.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := p.client()
		if err != nil {
			return err
		}
		defer c.Close()
		return do(cmd, c, args)
	}
}

// isTerminal reports whether the stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
