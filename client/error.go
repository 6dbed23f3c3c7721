package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Error describes why a call failed: an error response of the server or, with Status 0, a
// failure without a response (Code unavailable, the cause in Err).
// wire.CodeOf finds its Code.
type Error struct {
	Op         string // the operation, such as "submit an increment"
	Status     int    // HTTP status, 0 without a response
	Code       wire.Code
	Message    string      // the server's message, for people
	Field      string      // the invalid field of the request, if any
	Reason     wire.Reason // which rule rejected the request, if Code alone does not say
	EventID    string      // of the increment; safe to send again
	RequestID  string      // finds the request in the server's logs
	RetryAfter time.Duration
	WouldRank  int64     // in a not_found: the rank of the score in question
	NextReset  time.Time // in an attempts_used: when the next period begins; zero if none is planned
	Attempts   int       // number of tries
	Err        error
}

func (e *Error) Error() string {
	s := e.Op + ": "
	switch {
	case e.Status == 0:
		s += e.Err.Error()
	case e.Message == "":
		s += string(e.Code)
	case strings.Contains(e.Message, strings.ReplaceAll(string(e.Code), "_", " ")): // says it
		s += e.Message
	default:
		s += fmt.Sprintf("%s (%s)", e.Message, e.Code)
	}
	if e.Status != 0 && e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Attempts > 1 {
		s += fmt.Sprintf(", after %d tries", e.Attempts)
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// ErrorCode returns the code, for wire.CodeOf.
func (e *Error) ErrorCode() wire.Code { return e.Code }

// Temporary reports whether the same call may succeed later: the server was
// overloaded, failing or unreachable.
func (e *Error) Temporary() bool {
	switch e.Code {
	case wire.CodeRateLimited, wire.CodeOverloaded, wire.CodeUnavailable, wire.CodeInternal:
		return true
	}
	return e.Status >= 500
}

// responseError decodes an error response. If the body is not the API's, such as a
// proxy's page, only the status counts.
func responseError(r *http.Response, body []byte, now time.Time) *Error {
	e := &Error{
		Status:     r.StatusCode,
		RequestID:  r.Header.Get("X-Request-Id"),
		RetryAfter: retryAfter(r.Header.Get("Retry-After"), now),
	}
	var p wire.Error
	if json.Unmarshal(body, &p) == nil && p.ErrorCode != "" {
		e.Code, e.Message, e.Field, e.EventID = wire.Code(p.ErrorCode), p.Message, p.Field, p.EventID
		e.Reason, e.WouldRank = wire.Reason(p.Reason), p.WouldRank
		e.NextReset = timeOf(p.NextReset)
		if p.RequestID != "" {
			e.RequestID = p.RequestID
		}
		return e
	}
	e.Message = "unexpected response " + r.Status + ", not from this API"
	e.Code = codeOfStatus(r.StatusCode)
	return e
}

// timeOf is an optional time; zero if it is absent.
func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// statusOf is the HTTP status of a code that arrived without one.
func statusOf(code wire.Code) int {
	switch code {
	case wire.CodeUnauthorized, wire.CodeTokenUsed:
		return http.StatusUnauthorized
	case wire.CodeForbidden:
		return http.StatusForbidden
	case wire.CodeNotFound:
		return http.StatusNotFound
	case wire.CodeRateLimited:
		return http.StatusTooManyRequests
	case wire.CodeUnavailable, wire.CodeOverloaded:
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

func codeOfStatus(status int) wire.Code {
	switch status {
	case http.StatusUnauthorized:
		return wire.CodeUnauthorized
	case http.StatusForbidden:
		return wire.CodeForbidden
	case http.StatusNotFound:
		return wire.CodeNotFound
	case http.StatusTooManyRequests:
		return wire.CodeRateLimited
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return wire.CodeUnavailable
	}
	if status < 500 {
		return wire.CodeInvalidRequest
	}
	return wire.CodeInternal
}

// longestRetryAfter is the longest wait that a server can ask for: longer ones would overflow, or be for years.
const longestRetryAfter = 24 * time.Hour

// retryAfter parses both forms of the header; 0 if it is absent.
func retryAfter(s string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(s); err == nil {
		return time.Duration(min(max(n, 0), int(longestRetryAfter/time.Second))) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil {
		return min(max(t.Sub(now), 0), longestRetryAfter)
	}
	return 0
}
