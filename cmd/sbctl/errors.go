package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The exit codes.
const (
	exitDone        = 0
	exitBroke       = 1
	exitMisused     = 2
	exitNo          = 3 // it ran well and the answer is no
	exitInterrupted = 130
)

// usageError is a command line that cannot be run.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// errNo ends a command that ran well and has printed that the answer is no.
var errNo = errors.New("the answer is no")

// hinted is an error that knows the next step.
type hinted struct {
	error
	next string
}

func (e *hinted) Unwrap() error { return e.error }

// failure is how an error is printed with --output json: the API's error with
// the next step.
type failure struct {
	protocol.Error
	NextStep string `json:"next_step,omitempty"`
}

// finish prints what ended the run and returns its exit code.
func (p *program) finish(ctx context.Context, cmd *cobra.Command, err error) int {
	var usage *usageError
	var with exitWith
	code := exitBroke
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errNo):
		return exitNo
	case errors.As(err, &with):
		return int(with)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		code = exitInterrupted
	case errors.As(err, &usage):
		code = exitMisused
	}
	f := p.describe(ctx, cmd, code, err)
	if p.output == "json" || code == exitMisused && p.asksForJSON() {
		encoder := json.NewEncoder(p.stderr)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(f)
		return code
	}
	text := err.Error()
	if e, is := err.(*client.Error); is && e.Status == 0 || code == exitInterrupted { //nolint:errorlint // what wraps one has words of its own
		text = f.Message
	}
	fmt.Fprintf(p.stderr, "sbctl: %s\n", text)
	if f.NextStep != "" {
		fmt.Fprintf(p.stderr, "  next: %s\n", f.NextStep)
	}
	if f.RequestID != "" {
		fmt.Fprintf(p.stderr, "  request id: %s\n", f.RequestID)
	}
	if f.EventID != "" {
		fmt.Fprintf(p.stderr, "  event id: %s\n", f.EventID)
	}
	return code
}

// asksForJSON reads --output out of a command line that could not be parsed to
// its end.
func (p *program) asksForJSON() bool {
	for i, arg := range p.args {
		if arg == "--output=json" || arg == "--output" && i+1 < len(p.args) && p.args[i+1] == "json" {
			return true
		}
	}
	return false
}

func (p *program) describe(ctx context.Context, cmd *cobra.Command, code int, err error) failure {
	f := failure{Error: protocol.Error{ErrorCode: string(scoreboard.CodeInternal), Message: err.Error()}}
	var e *client.Error
	var h *hinted
	switch {
	case code == exitInterrupted:
		f.ErrorCode = "interrupted"
	case code == exitMisused:
		f.ErrorCode, f.NextStep = "misused", "see "+cmd.CommandPath()+" --help"
	case errors.As(err, &e):
		f.NextStep = p.nextStep(ctx, cmd, e)
	}
	if errors.As(err, &e) {
		f.Field, f.RequestID, f.EventID = e.Field, e.RequestID, e.EventID
		if code == exitBroke {
			f.ErrorCode = string(e.Code)
		}
		switch {
		case e.Message != "" && e.Err == nil:
			f.Message = e.Message
		case err == error(e) && e.Status == 0 && code == exitBroke: //nolint:errorlint // as above
			f.Message = p.inWords(e).Error()
		}
	}
	if code == exitInterrupted {
		f.Message, f.NextStep = cmd.Name()+" was interrupted", cmd.Annotations[onceInterrupted]
		if f.EventID != "" {
			f.NextStep = "it may have been counted: the same command with --event-id " + f.EventID + " is safe"
		}
	}
	if errors.As(err, &h) {
		f.NextStep = h.next
	}
	return f
}

// inWords is an error with what broke before there was an answer said as people
// say it.
func (p *program) inWords(err error) error {
	var e *client.Error
	if !errors.As(err, &e) || e.Status != 0 {
		return err
	}
	plain := *e
	plain.Err = errors.New(p.explain(e.Err))
	return &plain
}

// onceInterrupted annotates a command with what is left of one that was
// interrupted.
const onceInterrupted = "once interrupted"
