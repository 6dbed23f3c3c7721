package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

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
	f := p.describe(cmd, code, err)
	if p.output == "json" || code == exitMisused && p.asksForJSON() {
		encoder := json.NewEncoder(p.stderr)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(f)
		return code
	}
	fmt.Fprintf(p.stderr, "sbctl: %s\n", err)
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

func (p *program) describe(cmd *cobra.Command, code int, err error) failure {
	f := failure{Error: protocol.Error{ErrorCode: string(scoreboard.CodeInternal), Message: err.Error()}}
	var e *client.Error
	var h *hinted
	switch {
	case code == exitInterrupted:
		f.ErrorCode = "interrupted"
	case code == exitMisused:
		f.ErrorCode, f.NextStep = "misused", "see "+cmd.CommandPath()+" --help"
	case errors.As(err, &e):
		f.NextStep = p.nextStep(e)
	}
	if errors.As(err, &e) {
		f.Field, f.RequestID, f.EventID = e.Field, e.RequestID, e.EventID
		if code == exitBroke {
			f.ErrorCode = string(e.Code)
		}
		if e.Message != "" && e.Err == nil {
			f.Message = e.Message
		}
	}
	if errors.As(err, &h) {
		f.NextStep = h.next
	}
	return f
}

// nextStep says what a person can do about a refusal.
func (p *program) nextStep(e *client.Error) string {
	s, err := p.settings()
	switch {
	case err != nil:
		return ""
	case e.Status == 0:
		return fmt.Sprintf("is a server running at %s (from %s)? \"make dev\" starts one, --server names another", s.Server.Value, s.Server.From)
	case e.Code == scoreboard.CodeUnauthorized && s.Token.Value == "":
		return "set SBCTL_TOKEN, or choose a profile that has a token"
	case e.Code == scoreboard.CodeUnauthorized:
		return fmt.Sprintf("the token (from %s) is wrong or has expired; set another in SBCTL_TOKEN", s.Token.From)
	case e.Code == scoreboard.CodeInvalidSignature && s.KeyID.Value == "":
		return "set SBCTL_KEY_ID and SBCTL_KEY_SECRET; \"sbctl key create\" makes a key"
	case e.Code == scoreboard.CodeInvalidSignature:
		return fmt.Sprintf("check key %s (from %s) and this machine's clock with \"sbctl doctor\"", s.KeyID.Value, s.KeyID.From)
	case e.Code == scoreboard.CodeForbidden && e.Field == "user_id":
		return "\"sbctl user show USER\" tells an operator since when, by whom and why"
	case e.Code == scoreboard.CodeForbidden:
		return fmt.Sprintf("the token (from %s) may not do this; use one of that user, or with a wider scope", s.Token.From)
	case e.Code == scoreboard.CodeEventConflict:
		return "the event id belongs to another increment of the user; \"sbctl event show ID --user USER\" tells which"
	case e.RetryAfter > 0:
		return fmt.Sprintf("try again in %v", e.RetryAfter.Round(time.Second))
	case e.Temporary():
		return "try again; \"sbctl doctor\" looks for the cause"
	}
	return ""
}
