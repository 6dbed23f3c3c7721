package api

import (
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// operation describes one route for the document. What every route answers
// (unauthorized, rate_limited, overloaded, unavailable, internal) is added.
type operation struct {
	route   string // as the route table has it
	tag     string
	summary string
	more    string
	query   []param
	body    any
	answers map[int]any // by status: a value of the type, ndjson, stream or nothing
	codes   []scoreboard.Code
}

// param is a parameter of the query. Its kind is a type of JSON, or time.
type param struct{ name, kind, about string }

// ndjson is lines of JSON; stream is server-sent events; oneOf is any of some.
type (
	ndjson struct{ of any }
	stream struct{ of any }
	oneOf  []any
)

var (
	aBoard     = param{"board", "string", "the board, or a family, which means its current instance; global when absent"}
	aLimit     = param{"limit", "integer", "how many rows"}
	aCursor    = param{"cursor", "string", "next_cursor of the page before"}
	minVersion = param{"min_version", "integer", "wait up to a second for this version"}
	from       = param{"from", "time", "only what happened since then"}
	to         = param{"to", "time", "only what happened before then"}
	invalid    = scoreboard.CodeInvalidRequest
	notFound   = scoreboard.CodeNotFound
	forbidden  = scoreboard.CodeForbidden
	conflict   = scoreboard.CodeConflict
	tooLarge   = scoreboard.CodePayloadTooLarge
	mediaType  = scoreboard.CodeUnsupportedMediaType
)

// pathParams says what the parts of a path are.
var pathParams = map[string]string{
	"user_id": "the user, 1 to 64 of A-Z a-z 0-9 . _ : @ -", "board": "the board", "event_id": "the event, as it was sent",
	"key_id": "the key", "id": "the number of the thing", "name": "the setting",
}

func operations() []operation {
	writes := []scoreboard.Code{
		invalid, scoreboard.CodeInvalidSignature, forbidden, notFound, scoreboard.CodeEventConflict, scoreboard.CodeBoardClosed, scoreboard.CodeTokenUsed,
		tooLarge, mediaType, scoreboard.CodeDeltaOutOfRange, scoreboard.CodeScoreOutOfRange, scoreboard.CodeRuleViolated,
	}
	reads := []scoreboard.Code{invalid, forbidden, notFound}
	admin := []scoreboard.Code{invalid, forbidden, tooLarge, mediaType}
	with := func(codes []scoreboard.Code, more ...scoreboard.Code) []scoreboard.Code {
		return append(append([]scoreboard.Code(nil), codes...), more...)
	}
	key := param{"k", "integer", "rows above and below the user, 0 to 50"}
	place := []param{aBoard, key, minVersion, {"score", "integer", "where a score would stand, instead of the user's own"}}
	return []operation{
		{
			"POST /v1/scores/increment", "scores", "Count an increment",
			"Signed by the field scheme in the body, or by the header scheme. A repeat of the event id with the same payload gets the first receipt, marked replayed. Prefer: respond-async asks for 202. A request that names boards gets a receipt for each.",
			nil,
			protocol.IncrementRequest{},
			map[int]any{200: oneOf{protocol.Receipt{}, protocol.Receipts{}}, 202: protocol.EventStatus{}},
			writes,
		},
		{
			"POST /v1/scores/increments", "scores", "Count up to 500 increments, with a result for each in their order",
			"Signed by the header scheme. Scope score:update.",
			nil,
			protocol.Batch{},
			map[int]any{200: protocol.BatchResults{}},
			[]scoreboard.Code{invalid, scoreboard.CodeInvalidSignature, forbidden, tooLarge, mediaType},
		},
		{
			"GET /v1/events/:event_id", "scores", "Look up what became of an event", "",
			[]param{{"user_id", "string", "whose event it is, for servers; the token's user when absent"}},
			nil,
			map[int]any{200: oneOf{protocol.Receipt{}, protocol.Receipts{}, protocol.EventStatus{}}},
			reads,
		},

		{"POST /v1/actions", "scores", "Get a token that lets a user submit one increment", "", nil, protocol.ActionRequest{}, map[int]any{201: protocol.Action{}}, with(reads, tooLarge, mediaType, scoreboard.CodeBoardClosed, scoreboard.CodeDeltaOutOfRange)},

		{
			"GET " + pathTop, "leaderboard", "Read the head of a board",
			"The first page has an ETag. wait and after make it a long poll, which answers 304 where nothing newer comes.",
			[]param{aLimit, aBoard, aCursor, minVersion, {"wait", "string", "hold the request for up to so long, such as 25s"}, {"after", "string", "what the caller has: <epoch>:<version>"}},
			nil,
			map[int]any{200: protocol.Top{}, 304: nil},
			with(reads, scoreboard.CodeGone),
		},
		{"GET " + pathMe, "leaderboard", "Read the standing of the token's user", "", place, nil, map[int]any{200: protocol.Place{}}, reads},
		{"GET " + pathScore, "leaderboard", "Read a user's score and rank", "", place, nil, map[int]any{200: protocol.Place{}}, reads},
		{"GET " + pathRank, "leaderboard", "Read a user's rank with neighbours", "", place, nil, map[int]any{200: protocol.Place{}}, reads},
		{"POST " + pathUsers, "leaderboard", "Read the standings of up to a hundred users", "", nil, protocol.Users{}, map[int]any{200: protocol.List{}}, with(reads, tooLarge, mediaType)},

		{
			"GET /v1/users/:user_id/statement", "users", "Read what made a user's scores, newest first",
			"For the user and for operators. archived_before is set on the last page where older events have left for the archive.",
			[]param{{"board", "string", "one board, or all instances of a family; all boards when absent"}, from, to, {"limit", "integer", "how many events, 1 to 100; 100 when absent"}, aCursor},
			nil,
			map[int]any{200: protocol.Statement{}},
			reads,
		},
		{"PUT /v1/users/:user_id/profile", "users", "Set a user's name and picture", "For the user and for operators.", nil, protocol.Profile{}, map[int]any{200: protocol.Profile{}}, with(reads, tooLarge, mediaType)},

		{"GET /v1/realtime/token", "realtime", "Get a ticket to join, good for 30 seconds", "", []param{aBoard}, nil, map[int]any{200: protocol.JoinTicket{}}, reads},
		{
			"GET " + pathRealtime, "realtime", "Follow a board live",
			"A WebSocket upgrade, or server-sent events by Accept: text/event-stream. The frames are the same.",
			[]param{
				aBoard,
				{"token", "string", "a ticket, where headers cannot be set"},
				{"delta", "string", "1 asks for differences"},
				{"limit", "integer", "10 or 100 rows; without it as many as the knob reads.top_n says"},
				{"last_event_id", "string", "the last id that was seen, where Last-Event-ID cannot be set"},
			},
			nil,
			map[int]any{101: nil, 200: stream{protocol.Frame{}}},
			reads,
		},

		{
			"GET /v1/boards", "boards", "List boards", "",
			[]param{
				{"family", "string", "only instances of this family"},
				{"period", "string", "only boards of this period"},
				{"region", "string", "only boards of this region"},
				{"status", "string", "active, frozen or archived"},
				{"after", "string", "next_after of the page before"},
				aLimit,
			},
			nil,
			map[int]any{200: protocol.Boards{}},
			[]scoreboard.Code{invalid},
		},
		{"GET /v1/boards/:board", "boards", "Describe a board", "", nil, nil, map[int]any{200: protocol.Board{}}, reads},
		{"POST /v1/boards", "boards", "Make a board", "Scope score:admin.", nil, protocol.BoardRequest{}, map[int]any{201: protocol.Board{}}, with(admin, conflict)},
		{"PATCH /v1/boards/:board", "boards", "Change what a board's increments must come with", "Scope score:admin. What is absent stays as it is.", nil, protocol.BoardChange{}, map[int]any{200: protocol.Board{}}, with(admin, notFound, conflict)},
		{"POST /v1/boards/:board/freeze", "boards", "Take no more writes on a board", "Scope score:admin.", nil, nil, map[int]any{200: protocol.Board{}}, with(admin, notFound, conflict)},
		{"POST /v1/boards/:board/unfreeze", "boards", "Take writes on a board again", "Scope score:admin.", nil, nil, map[int]any{200: protocol.Board{}}, with(admin, notFound, conflict)},
		{"POST /v1/boards/:board/archive", "boards", "Take a board out of the ranking", "Scope score:admin.", nil, nil, map[int]any{200: protocol.Board{}}, with(admin, notFound, conflict)},

		{"POST /v1/boards/roll", "boards", "Begin the periods that are due, of every family", "Scope score:admin. A dry run only tells.", nil, protocol.RollRequest{}, map[int]any{200: protocol.Rolled{}}, with(admin, conflict)},
		{"POST /v1/boards/:board/roll", "boards", "Begin the period that is due of one family, or a season", "Scope score:admin. A dry run only tells.", nil, protocol.RollRequest{}, map[int]any{200: protocol.Rolled{}}, with(admin, notFound, conflict)},
		{"GET /v1/boards/:board/standings", "boards", "Read the final standings of a board that is over", "", []param{{"after", "integer", "next_after of the page before"}, aLimit}, nil, map[int]any{200: protocol.FinalStandings{}}, with(reads, conflict)},

		{"POST /v1/admin/keys", "admin", "Make a signing key, whose secret is shown this once", "", nil, protocol.KeyRequest{}, map[int]any{201: protocol.Key{}}, with(admin, notFound)},
		{"GET /v1/admin/keys", "admin", "List the signing keys", "", nil, nil, map[int]any{200: protocol.Keys{}}, []scoreboard.Code{forbidden}},
		{"POST /v1/admin/keys/:key_id/rotate", "admin", "Replace a signing key by a new one; the old one is good for a while", "", nil, protocol.RotateRequest{}, map[int]any{200: protocol.Key{}}, with(admin, notFound, conflict)},
		{"DELETE /v1/admin/keys/:key_id", "admin", "End a signing key", "", nil, nil, map[int]any{200: protocol.Key{}}, []scoreboard.Code{forbidden, notFound}},
		{"POST /v1/admin/tokens", "admin", "Make a token for a user (development issuer only)", "", nil, protocol.TokenRequest{}, map[int]any{201: protocol.Token{}}, admin},
		{
			"GET /v1/admin/audit", "admin", "Read what operators changed, newest first", "",
			[]param{
				{"who", "string", "only what this operator did"},
				{"action", "string", "only this action, such as user.ban"},
				{"target", "string", "only what was done to this, such as user:alice"},
				from, to, aCursor, aLimit,
			},
			nil,
			map[int]any{200: protocol.AuditEntries{}},
			[]scoreboard.Code{invalid, forbidden},
		},
		{"GET /v1/admin/users/:user_id", "admin", "Look at what a user is, since when and why, with scores and flags", "", nil, nil, map[int]any{200: protocol.User{}}, reads},
		{"POST /v1/admin/users/:user_id/ban", "admin", "Keep a user out of writes and rankings", "", nil, protocol.ReasonRequest{}, map[int]any{200: protocol.UserState{}}, with(admin, notFound, conflict)},
		{"POST /v1/admin/users/:user_id/unban", "admin", "Take a ban back; score and time come back with it", "", nil, protocol.ReasonRequest{}, map[int]any{200: protocol.UserState{}}, with(admin, notFound, conflict)},
		{"POST /v1/admin/users/:user_id/freeze", "admin", "Refuse a user's writes", "", nil, protocol.ReasonRequest{}, map[int]any{200: protocol.UserState{}}, with(admin, notFound, conflict)},
		{"POST /v1/admin/users/:user_id/unfreeze", "admin", "Take a user's writes again", "", nil, protocol.ReasonRequest{}, map[int]any{200: protocol.UserState{}}, with(admin, notFound, conflict)},
		{"POST /v1/admin/users/:user_id/adjust", "admin", "Move a user's score by hand", "", nil, protocol.AdjustRequest{}, map[int]any{200: protocol.Receipt{}}, with(admin, notFound, scoreboard.CodeEventConflict, scoreboard.CodeBoardClosed, scoreboard.CodeDeltaOutOfRange, scoreboard.CodeScoreOutOfRange)},
		{"GET /v1/admin/users/:user_id/export", "admin", "Read all that is kept about a user, a row a line", "", nil, nil, map[int]any{200: ndjson{protocol.ExportLine{}}}, reads},
		{"POST /v1/admin/users/:user_id/erase", "admin", "Forget a user for good; the ledger goes to an anonymous name", "", nil, protocol.ReasonRequest{}, map[int]any{200: protocol.Erased{}}, with(admin, notFound, conflict)},
		{"POST /v1/admin/events/:event_id/reverse", "admin", "Take an event back on all its boards", "", nil, protocol.ReverseRequest{}, map[int]any{200: oneOf{protocol.Receipt{}, protocol.Receipts{}}}, with(admin, notFound, scoreboard.CodeBoardClosed, scoreboard.CodeGone)},
		{"GET /v1/admin/settings", "admin", "List all settings with their effective values and sources", "", nil, nil, map[int]any{200: protocol.Settings{}}, []scoreboard.Code{forbidden}},
		{"PUT /v1/admin/settings", "admin", "Change several settings on all nodes, all or none", "", nil, protocol.SettingsRequest{}, map[int]any{200: protocol.Settings{}}, with(admin, notFound)},
		{"PUT /v1/admin/settings/:name", "admin", "Change a setting on all nodes, or reset it to its deployed value", "", nil, protocol.SettingRequest{}, map[int]any{200: protocol.Setting{}}, with(admin, notFound)},
		{
			"GET /v1/admin/flags", "admin", "List events that look wrong, the oldest first", "",
			[]param{{"state", "string", "open (the default), dismissed, confirmed or all"}, {"user_id", "string", "only of this user"}, {"after", "integer", "next_after of the page before"}, aLimit},
			nil,
			map[int]any{200: protocol.Flags{}},
			[]scoreboard.Code{invalid, forbidden},
		},
		{"GET /v1/admin/flags/:id", "admin", "Read a flag", "", nil, nil, map[int]any{200: protocol.Flag{}}, reads},
		{"POST /v1/admin/flags/:id/dismiss", "admin", "Say that a flag is nothing", "", nil, protocol.ReasonRequest{}, map[int]any{200: protocol.Flag{}}, with(admin, notFound, conflict)},
		{"POST /v1/admin/flags/:id/confirm", "admin", "Say that a flag is right", "", nil, protocol.ReasonRequest{}, map[int]any{200: protocol.Flag{}}, with(admin, notFound, conflict)},
		{"POST /v1/admin/voids", "admin", "Take back all that one key or address sent in a time", "A dry run only counts.", nil, protocol.VoidRequest{}, map[int]any{200: protocol.VoidPreview{}, 202: protocol.Void{}}, with(admin, notFound)},
		{"GET /v1/admin/voids", "admin", "List such jobs, the newest first", "", nil, nil, map[int]any{200: protocol.Voids{}}, []scoreboard.Code{forbidden}},
		{"GET /v1/admin/voids/:id", "admin", "See how far such a job is", "", nil, nil, map[int]any{200: protocol.Void{}}, reads},
		{"POST /v1/admin/voids/:id/undo", "admin", "Undo such a job", "", nil, protocol.ReasonRequest{}, map[int]any{202: protocol.Void{}}, with(admin, notFound, conflict, scoreboard.CodeGone)},
		{"GET /v1/admin/checks", "admin", "Have the server look at itself and its backends", "", nil, nil, map[int]any{200: protocol.Checks{}}, []scoreboard.Code{forbidden}},
		{"GET /v1/admin/status", "admin", "Read the pulse of a server and of one board", "", []param{aBoard}, nil, map[int]any{200: protocol.Status{}}, reads},
		{"GET /v1/admin/outbox", "admin", "See what waits to be published", "", nil, nil, map[int]any{200: protocol.Outbox{}}, []scoreboard.Code{forbidden}},
		{"GET /v1/admin/dead-letters", "admin", "List what could not be carried, oldest first", "", []param{{"after", "integer", "next_after of the page before"}, aLimit}, nil, map[int]any{200: protocol.DeadLetters{}}, []scoreboard.Code{invalid, forbidden}},
		{"GET /v1/admin/dead-letters/:id", "admin", "Read a dead letter with its bytes", "", nil, nil, map[int]any{200: protocol.DeadLetter{}}, reads},
		{"POST /v1/admin/dead-letters/:id/requeue", "admin", "Have a dead letter carried again", "", nil, nil, map[int]any{200: protocol.DeadLetter{}}, with(reads, conflict, scoreboard.CodeGone)},
		{"DELETE /v1/admin/dead-letters/:id", "admin", "End a dead letter for good", "", nil, nil, map[int]any{200: protocol.DeadLetter{}}, reads},
		{"GET /v1/admin/boards/:board/ranking", "admin", "See how a board's ranking is", "", nil, nil, map[int]any{200: protocol.Condition{}}, reads},
		{"POST /v1/admin/rebuild", "admin", "Make rankings anew from the truth", "", nil, protocol.JobRequest{}, map[int]any{200: ndjson{protocol.JobLine{}}}, with(admin, notFound, conflict)},
		{"POST /v1/admin/verify", "admin", "Compare ledger, scores and ranking", "", nil, protocol.JobRequest{}, map[int]any{200: ndjson{protocol.JobLine{}}}, with(admin, notFound, conflict)},
		{"POST /v1/admin/reconcile", "admin", "Compare scores and ranking, and put the ranking right", "", nil, protocol.JobRequest{}, map[int]any{200: ndjson{protocol.JobLine{}}}, with(admin, notFound, conflict)},
		{"POST /v1/admin/replay", "admin", "Have events carried again", "", nil, protocol.ReplayRequest{}, map[int]any{200: ndjson{protocol.JobLine{}}}, with(admin, notFound, conflict, scoreboard.CodeGone)},
		{"POST /v1/admin/ledger/archive", "admin", "Move old partitions of the ledger into the archive", "", nil, protocol.ArchiveRequest{}, map[int]any{200: ndjson{protocol.JobLine{}}}, with(admin, conflict)},

		{"GET " + openAPIPath, "about", "This document", "", nil, nil, map[int]any{200: map[string]any{}}, nil},
		{"GET " + docsPath, "about", "This document as a page", "", nil, nil, map[int]any{200: nil}, nil},
	}
}
