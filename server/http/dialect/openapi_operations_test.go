package dialect

import (
	"net/http"
	"slices"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/openapi"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// meanings describe fields without a comment, by their JSON name.
var meanings = map[string]string{
	"asOf":           "everything that was committed before this time is included",
	"avatar_url":     "URL of the player's avatar; absent if there is none",
	"board_state":    "HEALTHY, or DEGRADED_REBUILDING while the ranking does not answer or is rebuilt",
	"degraded":       "true if the rows are not from a healthy ranking",
	"global_rank":    "rank on the board, from 1",
	"last_action_id": "action of this request",
	"leaderboard":    "first ten rows after this increment; the user's row is never older than newScore",
	"leaderboard_id": "board and its period, such as highscore-2026-02",
	"newScore":       "the user's score after the increment, in points",
	"next_cursor":    "value of cursor for the next page; null on the last one",
	"nickName":       "display name of the user, or the id if there is none",
	"percentile":     "share of the players on the board that are not above this one, in percent",
	"player_id":      "id of the player: the sub of the token",
	"previous_score": "the player's score before this action, in points; null the first time",
	"rank":           "rank on the board, from 1",
	"score":          "score on the board, in points",
	"self":           "true in the player's own row, else absent",
	"entries":        "rows in the order of their ranks",
	"top":            "rows in the order of their ranks",
	"update_applied": "true if the score was stored; false for a score that is not higher, and for a repeat",
	"updatedAt":      "time at which the score was reached",
	"updated_at":     "time at which the score was reached",
	"userId":         "id of the user: 1 to 64 of the characters A-Z a-z 0-9 . _ : @ and -",
	"username":       "display name, or the id if there is none",
}

const patternID = `^[A-Za-z0-9._:@-]+$`

var (
	ofUser     = object{"pattern": patternID, "minLength": 1, "maxLength": scoreboard.MaxUserIDLength}
	ofEvent    = object{"pattern": patternID, "minLength": 1, "maxLength": scoreboard.MaxEventIDLength}
	ofAction   = object{"pattern": patternID, "minLength": 1, "maxLength": scoreboard.MaxActionLength}
	ofPoints   = object{"minimum": -int64(scoreboard.MaxScore), "maximum": int64(scoreboard.MaxScore)}
	ofScore    = object{"minimum": 0, "maximum": int64(scoreboard.MaxScore)}
	ofTime     = object{"format": "date-time", "minLength": 1}
	ofToken    = object{"minLength": 1, "maxLength": 3000}
	ofTicket   = object{"type": "string", "pattern": `^[^\u0000-\u001f\u007f-\u009f\ufffd]*$`, "maxLength": 4096}
	orAbsent   = object{"type": "string", "pattern": "^$|" + patternID, "maxLength": scoreboard.MaxEventIDLength}
	paramUser  = param{"path", "user_id", meanings["userId"], withType("string", ofUser), "user_123"}
	everywhere = []wire.Code{
		wire.CodeInvalidRequest, wire.CodeUnauthorized, wire.CodeForbidden, wire.CodeNotFound,
		wire.CodeRateLimited, wire.CodeOverloaded, wire.CodeUnavailable, wire.CodeInternal,
	}
	ofWrites = []wire.Code{
		wire.CodeInvalidSignature, wire.CodeEventConflict, wire.CodeBoardClosed, wire.CodeGone,
		wire.CodePayloadTooLarge, wire.CodeUnsupportedMediaType, wire.CodeDeltaOutOfRange,
		wire.CodeScoreOutOfRange, wire.CodeRuleViolated, wire.CodeAttemptsUsed, wire.CodeNotJoined,
	}
)

func withType(kind string, bounds object) object {
	schema := object{"type": kind}
	for name, v := range bounds {
		schema[name] = v
	}
	return schema
}

// exampleErrors say what a client reads; other codes have a message of their own name.
var exampleErrors = map[wire.Code]wire.Error{
	wire.CodeInvalidRequest: {Message: "timestamp is required", Field: "timestamp"},
	wire.CodeUnauthorized:   {Message: "the token has expired"},
	wire.CodeForbidden:      {Message: "the token is not for this user"},
	wire.CodeNotFound:       {Message: "user user_123 has no score on this board"},
	wire.CodeEventConflict:  {Message: "the event was recorded with another payload"},
	wire.CodeTokenUsed:      {Message: "the action token was used for another event"},
	wire.CodeRateLimited:    {Message: "too many requests"},
	wire.CodeDeltaOutOfRange: {
		Message: "delta must be between 1 and 1000000", Field: "delta",
		Reason: "delta_limits",
	},
	wire.CodeUnavailable: {Message: "the database is unavailable"},
}

// The bodies of requests, as the handlers decode them.
type (
	// highscoreRequest is a score that was reached in an action.
	highscoreRequest struct {
		ActionID    string `json:"action_id"`    // id of the action; repeats of it count once
		ActionToken string `json:"action_token"` // token of POST /v1/actions for this action_id and user
		NewScore    int64  `json:"new_score"`    // score that was reached, in points, 0 to 2^53 − 1
		Timestamp   string `json:"timestamp"`    // time at which the action was completed, RFC 3339
	}
	// deltaRequest is an increment.
	deltaRequest struct {
		UserID     string `json:"userId"`              // the sub of the token, unless a server writes for its users
		ScoreDelta int64  `json:"scoreDelta"`          // points to add, a plain integer
		ActionID   string `json:"actionId"`            // id of the action; repeats of it count once for each user
		Timestamp  string `json:"timestamp"`           // time of the action, RFC 3339
		Signature  string `json:"signature,omitempty"` // attestation: a compact JWS by one of the attestation keys
	}
	// moduleRequest is an increment for a configured action.
	moduleRequest struct {
		UserID   string `json:"userId"`   // the sub of the token, unless a server writes for its users
		ActionID string `json:"actionId"` // name of the action, of the setting ingest.actions
		// ScoreIncrement is the points to add: a number with an integer value, such as 5 or 5.0.
		ScoreIncrement int64 `json:"scoreIncrement"`
		// Timestamp is the time of the action. The same action at the same time is one event.
		Timestamp string `json:"timestamp"`
	}
	// highscoreRowsFrame is sent on connect and when the rows change.
	highscoreRowsFrame struct {
		Type string          `json:"type"` // always LEADERBOARD_UPDATE
		Data highscoreChange `json:"data"` // the rows
	}
	// highscoreScoreFrame is sent to a player's own connections.
	highscoreScoreFrame struct {
		Type string        `json:"type"` // always SCORE_UPDATE
		Data highscoreMove `json:"data"` // the player's score and rank
	}
	// plainRequest is a score.
	plainRequest struct {
		Score int64 `json:"score"` // score that was reached, in points, 0 to 2^53 − 1
	}
)

// documents describe the dialects. The examples are those of the specifications, with
// values where a specification names a type or leaves something out.
func documents() map[string]*document {
	return map[string]*document{
		"highscore": highscoreDocument(), "delta": deltaDocument(), "module": moduleDocument(),
		"plain": plainDocument(),
	}
}

func highscoreDocument() *document {
	return &document{
		title: "highscore",
		about: "The best score of each player and month. Every score is proven by an action token: POST " +
			"/v1/actions of " +
			"the native API, with an action_id, starts the action. Responses are in an envelope with success, and " +
			"data or error.",
		envelope: true, strict: true, noToken: []string{"GET /v1/leaderboard", "GET /v1/ws/leaderboard"},
		bounds: map[string]object{
			"action_id": ofEvent, "action_token": ofToken, "new_score": ofScore, "timestamp": ofTime,
		},
		operations: []operation{
			{
				route: "POST /v1/scores/update", id: "highscoreUpdateScore", summary: "Submit the score of an action",
				more: "A score that is not higher than the stored one, and a repeat of an action, are answered " +
					"with what is stored and update_applied false. The same action with another score is a 409.",
				params: []param{{
					"header", "X-Idempotency-Key", "the action_id, or nothing", orAbsent,
					"match-uuid-123",
				}},
				body: highscoreRequest{}, requests: map[string]string{"score": `{"action_id":"match-uuid-123",
					"action_token":"eyJ...","new_score":12345,"timestamp":"2026-02-02T10:30:00Z"}`},
				answer: highscoreUpdate{}, responses: map[string]string{"applied": `{"success":true,"data":{
					"player_id":"user_123","leaderboard_id":"global-2026-02","score":12345,"previous_score":12000,
					"last_action_id":"match-uuid-123","rank":452,"update_applied":true,
					"updated_at":"2026-02-02T10:30:00Z"}}`},
				codes: append(slices.Clone(ofWrites), wire.CodeTokenUsed),
			},
			{
				route: "GET /v1/leaderboard", id: "highscoreGetLeaderboard", summary: "List the first players",
				params: []param{
					{"query", "n", "number of rows, 1 to 100; 10 by default", object{
						"type": "integer", "minimum": 1, "maximum": maxRows, "default": defaultRows,
					}, 10},
					{"query", "cursor", "next_cursor of the previous page", object{"type": "string"}, ""},
				},
				answer: highscoreTop{}, responses: map[string]string{"top": `{"success":true,"data":{
					"leaderboard_id":"global-2026-02","top_n":10,"entries":[
					{"rank":1,"player_id":"p1","username":"Champion","score":50000,
					"avatar_url":"https://example.com/1.png"},
					{"rank":2,"player_id":"p2","username":"ProPlayer","score":48500,
					"avatar_url":"https://example.com/2.png"},
					{"rank":3,"player_id":"p3","username":"Legend","score":47200,
					"avatar_url":"https://example.com/3.png"}],
					"updated_at":"2026-02-02T10:30:00Z","next_cursor":"eyJ...","degraded":false,
					"board_state":"HEALTHY"}}`},
			},
			{
				route: "GET /v1/scores/me/rank", id: "highscoreGetMyRank",
				summary: "Show the caller's rank and neighbours",
				params: []param{{"query", "k", "rows above and below the caller, 0 to 50; 5 by default", object{
					"type": "integer", "minimum": 0, "maximum": maxNeighbours, "default": defaultNeighbours,
				}, 2}},
				answer: highscorePlace{}, responses: map[string]string{"place": `{"success":true,"data":{
					"player_id":"user_123","score":12345,"global_rank":452,"percentile":95.5,"neighbors":[
					{"player_id":"p119","score":12410,"rank":450},{"player_id":"p402","score":12380,"rank":451},
					{"player_id":"user_123","score":12345,"rank":452,"self":true},
					{"player_id":"p777","score":12340,"rank":453},{"player_id":"p990","score":12320,"rank":454}],
					"degraded":false,"board_state":"HEALTHY"}}`},
			},
			{
				route: "GET /v1/ws/leaderboard", id: "highscoreFollow", summary: "Follow the first ten players",
				more: "Upgrades to a WebSocket. It sends the rows at once and when they change, and to a player's " +
					"own connections the player's score and rank. A player may have 5 connections.",
				params: []param{{
					"query", "token", "the bearer token, for clients that cannot set headers; on this path only",
					ofTicket,
					"eyJ...",
				}},
				status: http.StatusSwitchingProtocols, answer: []any{highscoreRowsFrame{}, highscoreScoreFrame{}},
				responses: map[string]string{
					"rows": `{"type":"LEADERBOARD_UPDATE","data":{"entries":[{"rank":1,"player_id":"p1",
						"username":"Champion","score":50000}],"updated_at":"2026-02-02T10:30:01Z"}}`,
					"score": `{"type":"SCORE_UPDATE","data":{"player_id":"user_123","new_score":12500,"new_rank":420,
						"rank_change":"+32"}}`,
				},
			},
		},
	}
}

func deltaDocument() *document {
	return &document{
		title: "delta",
		about: "Increments by users, and by servers for their users, with an optional attestation. Codes of the " +
			"native 403 are a 401 here.",
		noToken: []string{"GET /v1/leaderboard/top", "GET /v1/users/{user_id}/score", "GET /v1/leaderboard/ws"},
		bounds: map[string]object{
			"userId": ofUser, "scoreDelta": ofPoints, "actionId": ofEvent, "timestamp": ofTime,
			"signature": {"maxLength": 3000},
		},
		operations: []operation{
			{
				route: "POST /v1/score/update", id: "deltaUpdateScore", summary: "Add to a user's score",
				more: "The same actionId again, whatever its scoreDelta, is answered with the recorded newScore, " +
					"and adds nothing.",
				body: deltaRequest{}, requests: map[string]string{"increment": `{
					"userId":"8c6ab0c1-2a4e-4f0e-9a53-7d1f4a1f6f0a","scoreDelta":10,"actionId":"match-8841",
					"timestamp":"2025-09-28T06:00:00Z"}`, "attested": `{
					"userId":"8c6ab0c1-2a4e-4f0e-9a53-7d1f4a1f6f0a","scoreDelta":10,"actionId":"match-8841",
					"timestamp":"2025-09-28T06:00:00Z",
					"signature":"eyJhbGciOiJFZERTQSJ9.eyJ1c2VySWQiOiI4YzYifQ.c2ln"}`},
				answer: deltaResult{}, responses: map[string]string{"result": `{"newScore":12345}`},
				codes: slices.DeleteFunc(slices.Clone(ofWrites), func(c wire.Code) bool {
					return c == wire.CodeEventConflict // a repeat
				}),
			},
			{
				route: "GET /v1/leaderboard/top", id: "deltaGetTop", summary: "List the first users",
				params: []param{{"query", "n", "number of rows, 1 to 100; by default the setting reads.top_n", object{
					"type": "integer", "minimum": 1, "maximum": scoreboard.TopSize,
				}, 10}},
				answer: deltaTop{}, responses: map[string]string{"top": `{"top":[{"rank":1,
					"userId":"8c6ab0c1-2a4e-4f0e-9a53-7d1f4a1f6f0a","username":"alice","score":12345}],
					"asOf":"2025-09-28T06:05:00Z"}`},
			},
			{
				route: "GET /v1/users/{user_id}/score", id: "deltaGetScore", summary: "Show a user's score",
				params: []param{paramUser},
				answer: deltaScore{}, responses: map[string]string{"score": `{
					"userId":"8c6ab0c1-2a4e-4f0e-9a53-7d1f4a1f6f0a","username":"alice","score":12345,"rank":1,
					"asOf":"2025-09-28T06:05:00Z"}`},
			},
			{
				route: "POST /v1/leaderboard/ws-token", id: "deltaGetStreamToken",
				summary: "Get a token that opens one WebSocket within a minute",
				answer:  deltaToken{}, responses: map[string]string{
					"token": `{"token":"eyJ...","expiresAt":"2025-09-28T06:06:00Z"}`,
				},
			},
			{
				route: "GET /v1/leaderboard/ws", id: "deltaFollow", summary: "Follow the first users",
				more: "Upgrades to a WebSocket. It sends the rows at once and when they change. A user may have 3 " +
					"connections.",
				params: []param{{
					"query", "token", "token of POST /v1/leaderboard/ws-token, which it uses up",
					ofTicket,
					"eyJ...",
				}},
				status: http.StatusSwitchingProtocols, answer: deltaUpdate{}, responses: map[string]string{
					"rows": `{"type":"leaderboard_update","top":[{"rank":1,
						"userId":"8c6ab0c1-2a4e-4f0e-9a53-7d1f4a1f6f0a","username":"alice","score":12345}],
						"asOf":"2025-09-28T06:05:00Z"}`,
				},
				codes: []wire.Code{wire.CodeTokenUsed},
			},
		},
	}
}

func moduleDocument() *document {
	return &document{
		title: "module",
		about: "Increments for configured actions (the setting ingest.actions), each answered with the first ten " +
			"rows. Follow a board with the streams of the native API.",
		bounds: map[string]object{
			"userId": ofUser, "actionId": ofAction, "scoreIncrement": ofPoints, "timestamp": ofTime,
		},
		operations: []operation{{
			route: "POST /api/v1/scores/update", id: "moduleUpdateScore",
			summary: "Add the points of an action to a user's score",
			body:    moduleRequest{}, requests: map[string]string{"increment": `{"userId":"user_123",
			"actionId":"match",
				"scoreIncrement":5,"timestamp":"2026-02-02T10:30:00Z"}`},
			answer: moduleUpdate{}, responses: map[string]string{"result": `{"userId":"user_123","newScore":105,
				"rank":2,
				"leaderboard":[{"userId":"p1","username":"Champion","score":500,"rank":1},
				{"userId":"user_123","username":"alice","score":105,"rank":2}]}`}, codes: ofWrites,
		}},
	}
}

func plainDocument() *document {
	return &document{
		title: "plain",
		about: "The highest score of each user. A userId that is a decimal integer below 2^53 is a JSON number. " +
			"Responses that are not from a healthy ranking have the headers Warning and X-Scoreboard-Degraded.",
		noToken: []string{"GET /leaderboard/top", "GET /leaderboard/{user_id}", "GET /leaderboard/stream"},
		bounds:  map[string]object{"score": ofScore},
		operations: []operation{
			{
				route: "POST /scores", id: "plainSubmitScore", summary: "Submit a score",
				more: "A score that is not higher than the stored one is answered with the stored one, and leaves " +
					"nothing behind.",
				params: []param{{
					"header", "Idempotency-Key", "id of the event; without it each request is an event of its own",
					orAbsent, "match-8841",
				}},
				body: plainRequest{}, requests: map[string]string{"score": `{"score":4500}`},
				answer: plainStanding{}, responses: map[string]string{
					"standing": `{"userId":123,"score":4500,"rank":7,"updatedAt":"2026-02-02T10:30:00Z"}`,
				}, codes: slices.DeleteFunc(slices.Clone(ofWrites), func(c wire.Code) bool {
					return c == wire.CodeAttemptsUsed // its board has no limit
				}),
			},
			{
				route: "GET /leaderboard/top", id: "plainGetTop", summary: "List the first ten users",
				answer: []plainRow{}, responses: map[string]string{"top": `[{"userId":123,"nickName":"alice",
					"score":4500,
					"rank":1,"updatedAt":"2026-02-02T10:30:00Z"},{"userId":"bob","nickName":"bob","score":4200,
					"rank":2,
					"updatedAt":"2026-02-02T10:29:00Z"}]`},
			},
			{
				route: "GET /leaderboard/{user_id}", id: "plainGetRank", summary: "Show a user's rank",
				params: []param{paramUser},
				answer: plainStanding{}, responses: map[string]string{
					"standing": `{"userId":123,"score":4500,"rank":7,"updatedAt":"2026-02-02T10:30:00Z"}`,
				},
			},
			{
				route: "GET /leaderboard/stream", id: "plainFollow", summary: "Follow the first ten users",
				more: "Sends server-sent events named leaderboard, each with the rows, at once and when they change: " +
					"at most one in 500 ms and 20 in a minute.",
				params: []param{
					{
						"header", "Last-Event-ID", "id of the last event; nothing is sent until the rows differ",
						object{"type": "string"},
						"1795404827525177:12",
					},
					{
						"query", "token", "join ticket of the native API, for clients that cannot set headers",
						ofTicket,
						"",
					},
				},
				kind: openapi.EventStream, event: "leaderboard", answer: []plainRow{},
				responses: map[string]string{"rows": `[{"userId":123,
					"nickName":"alice","score":4500,"rank":1,"updatedAt":"2026-02-02T10:30:00Z"}]`},
				codes: []wire.Code{wire.CodeTokenUsed},
			},
		},
	}
}
