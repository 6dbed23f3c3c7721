package client

import "github.com/scoreboard/scoreboard/client/wire"

// nextSteps are the same in every SDK: sdk/conformance/errors.json has them.
var nextSteps = map[wire.Code]string{
	wire.CodeInvalidRequest:       "Correct the request; sent again unchanged, it fails again.",
	wire.CodeUnauthorized:         "Get a new token.",
	wire.CodeInvalidSignature:     "Check the clock, the key id and the secret.",
	wire.CodeForbidden:            "Use the user's own token, or one with a wider scope.",
	wire.CodeNotFound:             "Check the id and the name of the board.",
	wire.CodeMethodNotAllowed:     "Send a request that /openapi.json describes.",
	wire.CodeUnsupportedMediaType: "Send a request that /openapi.json describes.",
	wire.CodeEventConflict:        "Use a new event id; this one belongs to another increment.",
	wire.CodeBoardClosed:          "Write to an open board; this one accepts no more scores.",
	wire.CodeTokenUsed:            "Get a new token; this one was used.",
	wire.CodeAttemptsUsed:         "Wait for the next period; all attempts of this one are used.",
	wire.CodePeriodEnded:          "Read the board; the increment was for a period that is not the current one.",
	wire.CodeNotJoined:            "Join the period first; the board counts only those who have.",
	wire.CodeJoinClosed:           "Join the next period; this one takes no players in or out any more.",
	wire.CodeTournamentFull:       "Join another period, or try again before the start; a player may leave.",
	wire.CodeConflict:             "Read the current state, then decide again.",
	wire.CodeNotSettled:           "Wait as long as the server asks, then read it again.",
	wire.CodeGone:                 "Do not send it again; what it names no longer exists.",
	wire.CodePayloadTooLarge:      "Send less in one request.",
	wire.CodeDeltaOutOfRange:      "Send a delta within the limits.",
	wire.CodeScoreOutOfRange:      "Keep the score within the board's limits.",
	wire.CodeRuleViolated:         "Follow the board's rules, such as starting an action first.",
	wire.CodeRateLimited:          "Wait as long as the server asks, then send it again with the same event id.",
}

// NextStep says what to do about the error, for people. It is empty for a permanent error
// whose code this version does not know.
func (e *Error) NextStep() string {
	if step := nextSteps[e.Code]; step != "" {
		return step
	}
	if e.Temporary() {
		return "Send it again later, with the same event id."
	}
	return ""
}
