package main

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
)

// process is what a run was given, so that tests can run commands in process.
type process struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            map[string]string
	args           []string // the command line
}

// program is one run of sbctl: what its commands share. A function that needs one part
// takes that part.
type program struct {
	*process
	*output
	*prompt
	*connector
	*confirmation
}

func newProgram(of *process) *program {
	out, ask := &output{process: of}, &prompt{process: of}
	server := &connector{process: of, profiles: &profiles{process: of}, trace: &trace{out: out}}
	return &program{
		process: of, output: out, prompt: ask, connector: server,
		confirmation: &confirmation{prompt: ask, to: server},
	}
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	p := newProgram(&process{stdin: stdin, stdout: stdout, stderr: stderr, env: map[string]string{}, args: args})
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
	p.trace.end(cmd, err)
	return p.finish(ctx, cmd, err)
}

// redraws reports whether the stream is a terminal that control sequences may move about on.
func (out *output) redraws(stream any) bool { return isTerminal(stream) && out.env["TERM"] != "dumb" }

// isTerminal reports whether the stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
