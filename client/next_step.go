package client

import "github.com/scoreboard/scoreboard/server/scoreboard"

// nextSteps are the same in every SDK: sdk/conformance/errors.json has them.
var nextSteps = map[scoreboard.Code]string{
	scoreboard.CodeInvalidRequest:       "Correct the request; sent again unchanged, it fails again.",
	scoreboard.CodeUnauthorized:         "Get a new token.",
	scoreboard.CodeInvalidSignature:     "Check the clock, the key id and the secret.",
	scoreboard.CodeForbidden:            "Use the user's own token, or one with a wider scope.",
	scoreboard.CodeNotFound:             "Check the id and the name of the board.",
	scoreboard.CodeMethodNotAllowed:     "Send a request that /openapi.json describes.",
	scoreboard.CodeUnsupportedMediaType: "Send a request that /openapi.json describes.",
	scoreboard.CodeEventConflict:        "Use a new event id; this one belongs to another increment.",
	scoreboard.CodeBoardClosed:          "Write to an open board; this one accepts no more scores.",
	scoreboard.CodeTokenUsed:            "Get a new token; this one was used.",
	scoreboard.CodeConflict:             "Read the current state, then decide again.",
	scoreboard.CodeNotSettled:           "Wait as long as the server asks, then read it again.",
	scoreboard.CodeGone:                 "Do not send it again; what it names no longer exists.",
	scoreboard.CodePayloadTooLarge:      "Send less in one request.",
	scoreboard.CodeDeltaOutOfRange:      "Send a delta within the limits.",
	scoreboard.CodeScoreOutOfRange:      "Keep the score within the board's limits.",
	scoreboard.CodeRuleViolated:         "Follow the board's rules, such as starting an action first.",
	scoreboard.CodeRateLimited:          "Wait as long as the server asks, then send it again with the same event id.",
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
