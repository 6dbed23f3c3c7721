package wire

import "errors"

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
	CodeAttemptsUsed         Code = "attempts_used"
	CodePeriodEnded          Code = "period_ended"
	CodeNotJoined            Code = "not_joined"
	CodeJoinClosed           Code = "join_closed"
	CodeTournamentFull       Code = "tournament_full"
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

// CodeOf returns the code of the first error in err's chain that has one: those of this
// client, and of the server's domain. It is internal for an error without one, and "" for
// nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e interface {
		error
		ErrorCode() Code
	}
	if errors.As(err, &e) {
		return e.ErrorCode()
	}
	return CodeInternal
}

// GlobalBoard is the default board of a request.
const GlobalBoard = "global"
