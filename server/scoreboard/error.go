package scoreboard

import (
	"errors"
	"fmt"
	"time"
)

// Code classifies an error. Callers branch on it, and the API sends it as
// error_code.
type Code string

// The codes of the API; package api maps them to HTTP statuses.
const (
	CodeInvalidRequest       Code = "invalid_request"
	CodeUnauthorized         Code = "unauthorized"
	CodeInvalidSignature     Code = "invalid_signature"
	CodeForbidden            Code = "forbidden"
	CodeNotFound             Code = "not_found"
	CodeMethodNotAllowed     Code = "method_not_allowed"
	CodeEventConflict        Code = "event_conflict"
	CodeBoardClosed          Code = "board_closed"
	CodeTokenUsed            Code = "token_used"
	CodeConflict             Code = "conflict"
	CodeNotSettled           Code = "not_settled"
	CodeGone                 Code = "gone"
	CodePayloadTooLarge      Code = "payload_too_large"
	CodeUnsupportedMediaType Code = "unsupported_media_type"
	CodeDeltaOutOfRange      Code = "delta_out_of_range"
	CodeScoreOutOfRange      Code = "score_out_of_range"
	CodeRuleViolated         Code = "rule_violated"
	CodeRateLimited          Code = "rate_limited"
	CodeOverloaded           Code = "overloaded"
	CodeUnavailable          Code = "unavailable"
	CodeInternal             Code = "internal"
)

// Reason narrows a Code down where a caller needs to know which of several rules
// refused a request. It is sent as reason; package protocol lists the values.
type Reason string

// The reasons of a delta_out_of_range.
const (
	ReasonDeltaLimits  Reason = "delta_limits"  // the limits of every increment (settings ingest.*_delta)
	ReasonBoardBounds  Reason = "board_bounds"  // the board's min_delta and max_delta
	ReasonActionRule   Reason = "action_rule"   // the rule of the action (setting ingest.actions)
	ReasonActionBounds Reason = "action_bounds" // the bounds that the action was started with
	ReasonActionBy     Reason = "action_by"     // the action's rule does not allow the caller (rule_violated)
	ReasonKeyScope     Reason = "key_scope"     // the max_delta of the signing key
)

// ErrUserLocked is in the chain of an outcome whose user another transaction
// locked for longer than a batch waits. The item is not written. The caller retries
// it later, separately, and before the user's next items.
var ErrUserLocked = errors.New("the user is locked by another transaction")

// ErrNoConsumer means that a record was not queued because nothing has ever consumed the
// queue: it might wait for ever.
var ErrNoConsumer = errors.New("nothing consumes the queue")

// ErrNotLoaded means that the ranking does not hold a board: Redis was flushed,
// or the board is archived or not built yet. A rebuild loads it.
var ErrNotLoaded = errors.New("board is not loaded in the ranking")

// Error is an error that a caller may branch on by Code. Message is safe to show to
// a client; Err, if any, is for the log only.
type Error struct {
	Code       Code
	Message    string
	Field      string        // the invalid field of the request, if any
	Reason     Reason        // which rule rejected the request, if Code alone does not say
	RetryAfter time.Duration // set for rate_limited, overloaded and unavailable
	WouldRank  int64         // of a requested score, in a not_found
	Err        error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error with a message for clients.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns an invalid_request about one field.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalidRequest, Field: field, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code in err's chain, internal for an error without one,
// and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
