package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
)

const (
	callTime  = 30 * time.Second // for one request to the API
	maxAnswer = 16 << 20         // bytes of one answer
)

// call asks the API for the person of a session. The API sees the person's token, address,
// user agent and the id of the request.
type call struct {
	api        http.Handler
	operations operations
	log        *slog.Logger
	now        func() time.Time
	ctx        context.Context
	header     http.Header
	remote     string
}

// caller calls the API for people.
type caller struct {
	api        http.Handler
	operations operations
	log        *slog.Logger
	now        func() time.Time
}

func (c *caller) as(r *http.Request, s *session) *call {
	h := http.Header{"Authorization": {"Bearer " + s.Token}, "X-Request-Id": {r.Header.Get("X-Request-Id")}}
	for _, name := range []string{"User-Agent", "Traceparent"} {
		if values := r.Header.Values(name); len(values) > 0 {
			h[name] = values
		}
	}
	return &call{
		api: c.api, operations: c.operations, log: c.log, now: c.now, ctx: share.WithCaller(r.Context(), s.User),
		header: h, remote: r.RemoteAddr,
	}
}

// failure is why a page cannot be shown or a change was not made, and what to do.
type failure struct {
	Status              int // of HTTP
	Code, Message, Next string
	Field, RequestID    string
}

// Guide is the address of the page of the documentation about the failure; "" for none.
func (f *failure) Guide() string {
	if page := guides[f.Code]; page != "" {
		return docsHref(page)
	}
	return ""
}

// guides name the pages of the documentation about errors of the API.
var guides = map[string]string{
	"unavailable": "backend-down", "overloaded": "latency", "internal": "server-errors", "forbidden": "security",
}

// Error implements error.
func (f *failure) Error() string { return f.Code + ": " + f.Message }

// nextSteps say what to do about an error of the API.
var nextSteps = map[string]string{
	"unauthorized":       "Sign in again.",
	"forbidden":          "Sign in with a token that has this scope.",
	"not_found":          "Check the spelling. It may also have been deleted meanwhile.",
	"conflict":           "Reload the page: its state has changed, or another change is in progress.",
	"gone":               "It has ended and cannot be changed any more.",
	"rate_limited":       "Wait a few seconds and try again.",
	"overloaded":         "Wait a few seconds and try again.",
	"unavailable":        "See the overview for the backend that does not answer.",
	"internal":           "Look up the request id in the log of the server.",
	"invalid_request":    "Correct the value and submit the form again.",
	"delta_out_of_range": "Choose a value within the limits of the board.",
	"score_out_of_range": "Choose a value within the limits of the board.",
	"board_closed":       "The board is frozen, archived or has ended; unfreeze it first if it is frozen.",
	"event_conflict":     "Use another event id.",
}

// failureOf returns any error as a failure.
func failureOf(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return &failure{
		Status: http.StatusInternalServerError, Code: "internal", Message: "The console could not answer.",
		Next: nextSteps["internal"],
	}
}

// do sends a request and decodes the answer into out, if that is not nil. An error answer
// is a *failure.
func (k *call) do(method, path string, query url.Values, body, out any) error {
	ctx, cancel := context.WithTimeout(k.ctx, callTime)
	defer cancel()
	w := &answerBuffer{header: make(http.Header)}
	if err := k.send(ctx, w, method, path, query, body); err != nil {
		return err
	}
	if w.overflow {
		return &failure{
			Status: http.StatusInternalServerError, Code: "internal", Message: "The answer is too large for a page.",
			Next: "Use sbctl, or narrow the filter.",
		}
	}
	if w.status >= http.StatusBadRequest {
		return readFailure(w.status, w.body.Bytes())
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(w.body.Bytes(), out); err != nil {
		return fmt.Errorf("decode the answer of %s %s: %w", method, path, err)
	}
	return nil
}

func (k *call) get(path string, query url.Values, out any) error {
	return k.do(http.MethodGet, path, query, nil, out)
}

// operate is do for an operation of the API.
func (k *call) operate(operation string, q request, out any) error {
	method, path, err := k.operations.target(operation, q.ids)
	if err != nil {
		return err
	}
	return k.do(method, path, q.query, q.body, out)
}

// last is operate for an answer of lines, and returns the last one. A line that is an error
// is a *failure.
func (k *call) last(operation string, q request) (wire.JobLine, error) {
	method, path, err := k.operations.target(operation, q.ids)
	if err != nil {
		return wire.JobLine{}, err
	}
	ctx, cancel := context.WithTimeout(k.ctx, callTime)
	defer cancel()
	var line wire.JobLine
	w := &answerBuffer{header: make(http.Header)}
	if err := k.send(ctx, w, method, path, q.query, q.body); err != nil {
		return line, err
	}
	if w.status >= http.StatusBadRequest {
		return line, readFailure(w.status, w.body.Bytes())
	}
	lines := bytes.Split(bytes.TrimSpace(w.body.Bytes()), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &line); err != nil || ctx.Err() != nil && k.ctx.Err() == nil {
		return line, &failure{
			Status: http.StatusGatewayTimeout, Code: "unavailable",
			Message: "The dry run took too long for a page.",
			Next:    "Choose a smaller range, or run the command with --dry-run in a terminal.",
		}
	}
	if line.Error != nil {
		return line, failureFrom(http.StatusConflict, line.Error)
	}
	return line, nil
}

// send has the API answer a request to w.
func (k *call) send(
	ctx context.Context, w http.ResponseWriter, method, path string, query url.Values, body any,
) error {
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encode a request: %w", err)
		}
		content = bytes.NewReader(text)
	}
	target := path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	//nolint:gosec,nolintlint // G704, not in every run: the request goes to a handler of this process
	r, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		return &failure{Status: http.StatusNotFound, Code: "not_found", Message: "There is no such page.", Next: ""}
	}
	r.Header, r.RemoteAddr, r.RequestURI = k.header.Clone(), k.remote, target
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	k.api.ServeHTTP(w, r)
	return nil
}

// readFailure reads an error answer of the API.
func readFailure(status int, body []byte) *failure {
	var e wire.Error
	if json.Unmarshal(body, &e) != nil || e.ErrorCode == "" {
		return &failure{Status: status, Code: "internal", Message: http.StatusText(status), Next: nextSteps["internal"]}
	}
	return failureFrom(status, &e)
}

// failureFrom is a failure with an error of the API.
func failureFrom(status int, e *wire.Error) *failure {
	message := e.Message
	if message != "" {
		message = strings.ToUpper(message[:1]) + message[1:]
		if !strings.HasSuffix(message, ".") {
			message += "."
		}
	}
	return &failure{
		Status: status, Code: e.ErrorCode, Message: message, Field: e.Field, RequestID: e.RequestID,
		Next: nextSteps[e.ErrorCode],
	}
}

// answerBuffer keeps an answer in memory, up to maxAnswer bytes.
type answerBuffer struct {
	header   http.Header
	status   int
	body     bytes.Buffer
	overflow bool
}

// Header implements http.ResponseWriter.
func (w *answerBuffer) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *answerBuffer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *answerBuffer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(b) > maxAnswer {
		w.overflow = true
		return 0, errors.New("the answer is too large")
	}
	return w.body.Write(b)
}

// Flush implements http.Flusher.
func (w *answerBuffer) Flush() {}
