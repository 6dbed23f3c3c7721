package scoreboard

import (
	"errors"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
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
	Code       wire.Code
	Message    string
	Field      string        // the invalid field of the request, if any
	Reason     wire.Reason   // which rule rejected the request, if Code alone does not say
	RetryAfter time.Duration // set for rate_limited, overloaded and unavailable
	WouldRank  int64         // of a requested score, in a not_found
	NextReset  time.Time     // when the next period begins, in an attempts_used; zero: never, or it is not planned
	Err        error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

// ErrorCode returns the code, for wire.CodeOf.
func (e *Error) ErrorCode() wire.Code { return e.Code }

// Errorf returns an Error with a message for clients.
func Errorf(code wire.Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns an invalid_request about one field.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: wire.CodeInvalidRequest, Field: field, Message: fmt.Sprintf(format, args...)}
}
