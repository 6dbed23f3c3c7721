package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/gorilla/websocket"
	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The exit codes of sbctl.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitCheckFailed = 3 // completed, but a check failed
	exitInterrupted = 130
)

// usageError is an invalid command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// errCheckFailed ends a command that completed and printed the failed check.
var errCheckFailed = errors.New("completed, but a check failed")

// hintedError is an error with a next step.
type hintedError struct {
	error
	next string
}

func (e *hintedError) Unwrap() error { return e.error }

// failure is an error as --output json prints it: the API's error and the next
// step.
type failure struct {
	wire.Error
	NextStep string `json:"next_step,omitempty"`
}

// finish prints the error that ended the run and returns the exit code.
func (p *program) finish(ctx context.Context, cmd *cobra.Command, err error) int {
	var usage *usageError
	var with exitCode
	code := exitError
	switch {
	case err == nil, p.curl && errors.Is(err, errPrinted):
		return exitOK
	case errors.Is(err, errCheckFailed):
		return exitCheckFailed
	case errors.As(err, &with):
		return int(with)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		code = exitInterrupted
	case errors.As(err, &usage):
		code = exitUsage
	}
	f := describe(ctx, p.connector, cmd, code, err)
	if p.format == "json" || p.format == "ndjson" || code == exitUsage && asksForJSON(p.args) {
		_ = writeJSON(p.stderr, f, "")
		return code
	}
	text := err.Error()
	e, unwrapped := err.(*client.Error) //nolint:errorlint // a wrapper has its own message
	if unwrapped && e.Status == 0 || code == exitInterrupted {
		text = f.Message
	}
	if errors.As(err, &e) { // only our own errors have several lines
		text = scoreboard.Escape(text)
	}
	text = strings.ReplaceAll(text, "\t", "  ") // an error of pgx indents its lines
	fmt.Fprintf(p.stderr, "sbctl: %s\n", escapeLines(text))
	for _, line := range []struct{ label, text string }{
		{"next", f.NextStep}, {"request id", f.RequestID}, {"event id", f.EventID},
	} {
		if line.text != "" {
			fmt.Fprintf(p.stderr, "  %s: %s\n", line.label, scoreboard.Escape(line.text))
		}
	}
	return code
}

// asksForJSON finds --output json in a command line that failed to parse.
func asksForJSON(args []string) bool {
	for i, arg := range args {
		if arg == "--output" || arg == "-o" {
			arg += "=" + strings.Join(args[i+1:min(i+2, len(args))], "")
		}
		format := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(arg, "--output"), "-o"), "=")
		if format != arg && (format == "json" || format == "ndjson") {
			return true
		}
	}
	return false
}

func describe(ctx context.Context, cn *connector, cmd *cobra.Command, code int, err error) failure {
	f := failure{Error: wire.Error{ErrorCode: string(wire.CodeInternal), Message: err.Error()}}
	var e *client.Error
	var h *hintedError
	switch {
	case code == exitInterrupted:
		f.ErrorCode = "interrupted"
	case code == exitUsage:
		f.ErrorCode, f.NextStep = "usage_error", "see "+cmd.CommandPath()+" --help"
	case errors.As(err, &e):
		f.NextStep = nextStep(ctx, cn, cmd, e)
	}
	if errors.As(err, &e) {
		f.Field, f.RequestID, f.EventID = e.Field, e.RequestID, e.EventID
		if code == exitError {
			f.ErrorCode = string(e.Code)
		}
		switch {
		case e.Message != "" && e.Err == nil:
			f.Message = e.Message
		case err == error(e) && e.Status == 0 && code == exitError: //nolint:errorlint // as above
			f.Message = cn.humanize(e).Error()
		}
	}
	if code == exitInterrupted {
		f.Message, f.NextStep = cmd.Name()+" was interrupted", cmd.Annotations[afterInterrupt]
		if f.EventID != "" {
			f.NextStep = "the increment may have been counted; retry safely with --event-id " + f.EventID
		}
	}
	if errors.As(err, &h) {
		f.NextStep = h.next
	}
	return f
}

// humanize replaces the cause of a connection error with a readable sentence.
func (cn *connector) humanize(err error) error {
	var e *client.Error
	if !errors.As(err, &e) || e.Status != 0 {
		return err
	}
	plain := *e
	plain.Err = errors.New(cn.explain(e.Err))
	return &plain
}

// afterInterrupt is the annotation with the next step after an interrupted command.
const afterInterrupt = "after interrupt"

// explain is a readable sentence about an error, without the wrapped calls.
func (cn *connector) explain(err error) string {
	var e *client.Error
	if errors.As(err, &e) && e.Status != 0 && e.Message != "" {
		return e.Message
	}
	server := "the server"
	if s, settingsErr := cn.connection(); settingsErr == nil {
		server = s.Server.Value
	}
	return explainAt(server, err)
}

// explainAt is a readable sentence about an error of the connection to an address.
func explainAt(server string, err error) string {
	var errno syscall.Errno
	var dns *net.DNSError
	var slow net.Error
	var closed *websocket.CloseError
	var request *url.Error
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &certificate):
		return fmt.Sprintf("the certificate of %s is not accepted: %s", server,
			strings.TrimPrefix(certificate.Err.Error(), "x509: "))
	case errors.As(err, &record) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Sprintf("%s does not speak TLS", server)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("%s does not answer", server)
	case errors.As(err, &dns):
		return fmt.Sprintf("%s cannot be resolved", server)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.As(err, &closed):
		return "the connection was lost"
	case errors.As(err, &slow) && slow.Timeout():
		return fmt.Sprintf("%s timed out", server)
	case errors.As(err, &errno):
		return fmt.Sprintf("%s is unreachable: %s", server, errno)
	case errors.As(err, &request): // without the method and the URL, which the caller names
		return fmt.Sprintf("the request to %s failed: %s", server, request.Err)
	}
	return err.Error()
}
