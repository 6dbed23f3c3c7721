package api

import (
	"slices"

	"github.com/scoreboard/scoreboard/client/wire"
)

// operation describes one route for the document. The errors of every route
// (everywhere) are added.
type operation struct {
	route   string // method and path, as in the route table
	tag     string
	summary string
	more    string
	query   []param
	body    any
	answers map[int]any // by status: a value of the type, ndjson, stream or nil
	codes   []wire.Code
}

// param is a query parameter. Its kind is a JSON type, or time.
type param struct{ name, kind, about string }

// ndjson is lines of JSON; stream is server-sent events; oneOf is one of several types;
// media is text of that media type.
type (
	media  string
	ndjson struct{ of any }
	stream struct{ of any }
	oneOf  []any
)

const (
	notFound  = wire.CodeNotFound
	conflict  = wire.CodeConflict
	tooLarge  = wire.CodePayloadTooLarge
	mediaType = wire.CodeUnsupportedMediaType
)

var (
	queryBoardParam = param{"board", "string", "board, or a family to use its current instance; global by default"}
	queryLimit      = param{"limit", "integer", "maximum number of rows"}
	queryCursor     = param{"cursor", "string", "next_cursor of the previous page"}
	queryAfter      = param{"after", "integer", "next_after of the previous page"}
	queryMinVersion = param{"min_version", "integer", "wait up to a second for this version of the board or the user"}
	queryFrom       = param{"from", "time", "only events at or after this time"}
	queryTo         = param{"to", "time", "only events before this time"}

	queryAt = param{"at", "time", "standings at this time: with everything recorded at or before it"}
	queryAs = param{"as", "string", "with at: recorded for the standings as they were (the default), " +
		"now to leave out the events that are reversed and the users that are banned now"}

	queryPlace = []param{
		queryBoardParam,
		{"k", "integer", "rows above and below the user, 0 to 50"},
		queryMinVersion,
		{"score", "integer", "if the user is not on the board, report the rank that this score would have"},
		{"subscore", "integer", "with score, on boards that have subscores: the subscore of that rank; 0 by default"},
		queryAt, queryAs,
	}
)

// The error codes of kinds of routes.
var (
	readCodes  = []wire.Code{notFound}
	adminCodes = []wire.Code{tooLarge, mediaType}
	writeCodes = []wire.Code{
		wire.CodeInvalidSignature, notFound, wire.CodeEventConflict,
		wire.CodeBoardClosed, wire.CodeTokenUsed, wire.CodeAttemptsUsed, wire.CodePeriodEnded, wire.CodeNotJoined,
		tooLarge, mediaType, wire.CodeDeltaOutOfRange, wire.CodeScoreOutOfRange, wire.CodeRuleViolated, wire.CodeGone,
	}
)

func with[T any](some []T, more ...T) []T {
	return slices.Concat(some, more)
}

// pathParams describes the parameters of paths.
var pathParams = map[string]string{
	"user_id": "user id: 1 to 64 of the characters A-Z a-z 0-9 . _ : @ and -", "board": "name of the board",
	"event_id": "event id as submitted",
	"key_id":   "id of the signing key", "webhook_id": "id of the webhook",
	"team": "name of the team",
	"id":   "numeric id", "name": "name of the setting",
	"file": "name of the file, such as score-board.js, the element for other pages",
	"page": "name of the page, such as security; api is the reference of the API",
}

// reads is an operation without a body that answers 200.
func reads(route, tag, summary string, query []param, answer any, codes ...wire.Code) operation {
	return operation{
		route: route, tag: tag, summary: summary, query: query, answers: map[int]any{200: answer}, codes: codes,
	}
}

// writes is an operation with a body that answers 200.
func writes(route, tag, summary string, body, answer any, codes ...wire.Code) operation {
	return operation{
		route: route, tag: tag, summary: summary, body: body, answers: map[int]any{200: answer}, codes: codes,
	}
}

// created changes the status of an operation to 201.
func created(o operation) operation {
	o.answers = map[int]any{201: o.answers[200]}
	return o
}

// previewed adds the status 200 of a dry run to an operation.
func previewed(o operation) operation {
	o.answers[200] = o.answers[201]
	return o
}

// accepted changes the status of an operation to 202.
func accepted(o operation) operation {
	o.answers = map[int]any{202: o.answers[200]}
	return o
}

// described adds a description to an operation.
func described(o operation, more string) operation {
	o.more = more
	return o
}

// queryTimeline are the parameters of a timeline besides the board.
var queryTimeline = []param{
	{"from", "time", "first step; by default the start of the period, or a day before to"},
	{"to", "time", "end of the timeline, the last step; by default the end of the board, or two seconds before now"},
	{"step", "string", "duration between steps, 1s to 8784h; by default a 250th of the timeline"},
	{"limit", "integer", "number of rows, 1 to 100; 10 by default"},
	queryAs,
}

func operations() []operation {
	return slices.Concat(scoreOperations(), readOperations(), boardOperations(), pageOperations(), adminOperations(),
		aboutOperations())
}

func aboutOperations() []operation {
	return []operation{
		reads("GET "+rootPath, "about", "Show what this is and where to look; a page if Accept prefers text/html", nil,
			wire.FrontPage{}),
		reads("GET "+openAPIPath, "about", "Get this document", nil, map[string]any{}),
		reads("GET "+asyncAPIPath, "about", "Get the messages of streams and webhooks, as an AsyncAPI 3 document", nil,
			map[string]any{}),
		reads("GET "+docsPath, "about", "Show the index of the documentation", nil, media("text/html")),
		reads("GET "+docsPagePath, "about", "Show a page of the documentation, or one of its files", nil,
			media("text/html"), notFound),
	}
}

func pageOperations() []operation {
	rows := param{"limit", "integer", "number of rows, 10 or 100; 10 by default"}
	return []operation{
		described(reads("GET "+pathPages, "pages", "Show the list of boards that have pages", nil, media("text/html"),
			readCodes...), "The page lists 100 boards by name. Parameters that it does not know are ignored. It knows "+
			"after (a board; those after it follow) and theme (light or dark)."),
		described(reads("GET "+pathPage, "pages", "Show the page of a board", nil, media("text/html"), readCodes...),
			"Parameters that the page does not know are ignored. It knows limit (10 or 100), player (the id of a "+
				"player to show with neighbours), theme (light or dark), kiosk (1 for a screen on a wall) and "+
				"before (a period; the choice of periods has those before it)."),
		described(reads("GET "+pathEmbed, "pages", "Show the page of a board for an iframe", nil, media("text/html"),
			readCodes...), "Only pages of the setting web.origins may frame it. It knows limit, player and theme."),
		reads("GET "+pathCard, "pages", "Draw the first 10 rows of a board, for links to it", nil,
			media("image/svg+xml"), readCodes...),
		reads("GET "+pathPageTop, "pages", "List the top of a board, for its page", []param{rows}, wire.Top{},
			readCodes...),
		described(reads("GET "+pathPageTimeline, "pages", "List the top of a board at regular times, for its page",
			queryTimeline, wire.Timeline{}, with(readCodes, wire.CodeGone, wire.CodeNotSettled)...),
			"As "+pathTimeline+" for anonymous clients."),
		reads("GET "+pathPagePlayer, "pages", "Get a player's standing with neighbours, for a board's page",
			[]param{{"k", "integer", "rows above and below the player, 0 to 5; 2 by default"}}, wire.Place{},
			readCodes...),
		reads("GET "+pathPageChart, "pages", "Get a player's last day in hours, for a board's page",
			nil, wire.RankHistory{}, with(readCodes, wire.CodeGone, wire.CodeNotSettled)...),
		described(reads("GET "+pathPageStream, "pages", "Follow a board, for its page", []param{
			rows,
			{"delta", "string", "1 to receive changes instead of full states"},
			{"last_event_id", "string", "id of the last event received, for clients that cannot set Last-Event-ID"},
			{"lastEventId", "string", "the same, as polyfills of EventSource send it"},
		}, stream{wire.Message{}}, readCodes...), "Sends server-sent events, as "+pathRealtime+" does."),
		reads("GET "+pathAsset, "pages", "Get a script, style sheet or picture that pages load", nil,
			media("text/javascript"), notFound),
	}
}

func scoreOperations() []operation {
	return []operation{
		{
			route: "POST /v1/scores/increment", tag: "scores", summary: "Submit an increment",
			more: "Signed by the field scheme in the body or by the header scheme. " +
				"A repeat of an event id with the same payload returns the first receipt, marked as replayed. " +
				"With Prefer: respond-async the response may be 202: the increment is accepted and recorded later. " +
				"A request with boards gets a receipt for each board.",
			body: wire.IncrementRequest{},
			answers: map[int]any{
				200: oneOf{wire.Receipt{}, wire.Receipts{}}, 202: wire.EventStatus{},
			},
			codes: writeCodes,
		},
		described(writes("POST /v1/scores/increments", "scores", "Submit up to 500 increments",
			wire.Batch{}, wire.BatchResults{},
			wire.CodeInvalidSignature, tooLarge, mediaType, wire.CodeDeltaOutOfRange),
			"Returns a result for each item, in order. Signed by the header scheme. Requires the scope score:update."),
		reads("GET /v1/events/:event_id", "scores", "Get the receipt or status of an event",
			[]param{{"user_id", "string", "user of the event (requires score:update); the token's user by default"}},
			oneOf{wire.Receipt{}, wire.Receipts{}, wire.EventStatus{}}, readCodes...),
		created(writes("POST /v1/actions", "scores", "Start an action and get a token for one increment",
			wire.ActionRequest{}, wire.Action{},
			with(readCodes, tooLarge, mediaType, wire.CodeBoardClosed, wire.CodeDeltaOutOfRange)...)),
	}
}

func readOperations() []operation {
	return []operation{
		{
			route: "GET " + pathTop, tag: "leaderboard", summary: "List the top of a board",
			more: "The first page has an ETag. With wait and after, the request is a long poll: " +
				"it returns 304 if the board does not change in time. With at, version and epoch are null.",
			query: []param{
				queryLimit, queryBoardParam,
				{"tier", "string", "only users in this tier of the board; without min_version, wait, after, at and as"},
				queryCursor, queryMinVersion,
				{"wait", "string", "maximum wait of a long poll, such as 25s"},
				{"after", "string", "with wait: the version that the client already has, as <epoch>:<version>"},
				queryAt, queryAs,
			},
			answers: map[int]any{200: wire.Top{}, 304: nil},
			codes:   with(readCodes, wire.CodeGone, wire.CodeNotSettled),
		},
		described(reads("GET "+pathTimeline, "leaderboard", "List the top of a board at regular times in the past",
			append([]param{queryBoardParam}, queryTimeline...), wire.Timeline{},
			with(readCodes, wire.CodeGone, wire.CodeNotSettled)...),
			"Each frame is what "+pathTop+" returns for its time as at; a time at which the rows did not change has "+
				"none. A response has at most 500 steps and 10,000 rows, and fewer if they need many events: send "+
				"next_from as from, with the board of the response and the same to and step, for the next part. A "+
				"family is read in the period that contains from, or to if there is no from."),
		reads("GET "+pathMe, "leaderboard", "Get the standing of the token's user",
			queryPlace, wire.Place{}, with(readCodes, wire.CodeGone, wire.CodeNotSettled)...),
		reads("GET "+pathScore, "leaderboard", "Get a user's score and rank",
			queryPlace, wire.Place{}, with(readCodes, wire.CodeGone, wire.CodeNotSettled)...),
		reads("GET "+pathRank, "leaderboard", "Get a user's rank with neighbours",
			queryPlace, wire.Place{}, with(readCodes, wire.CodeGone, wire.CodeNotSettled)...),
		described(reads("GET "+pathHistory, "users", "Get a user's score and rank over time",
			[]param{
				queryBoardParam,
				{"from", "time", "first point; 24 steps before to by default"},
				{"to", "time", "last point at the latest; the last whole step before now by default"},
				{"step", "string", "duration between points, 1s to 8784h; 1h by default"},
				queryAs,
			},
			wire.RankHistory{}, with(readCodes, wire.CodeGone, wire.CodeNotSettled)...),
			"At most 1,000 points. user_id may be me. A family is read in the period that contains the last point."),
		described(reads("GET "+pathExplain, "users", "Explain a user's rank",
			[]param{queryBoardParam}, wire.RankExplanation{},
			with(readCodes, wire.CodeGone, wire.CodeNotSettled)...),
			"Available to the user and to operators (score:operate). user_id may be me."),
		writes("POST "+pathUsers, "leaderboard", "Get the standings of up to 100 users",
			wire.Users{}, wire.List{}, with(readCodes, tooLarge, mediaType)...),
		described(
			reads("GET /v1/users/:user_id/statement", "users", "List a user's events, newest first",
				[]param{
					{"board", "string", "one board, or a family for all its instances; all boards by default"},
					queryFrom, queryTo,
					{"limit", "integer", "maximum number of events, 1 to 100; 100 by default"},
					queryCursor,
				},
				wire.Statement{}, readCodes...),
			"Available to the user and to operators (score:operate). "+
				"archived_before is set on the last page if older events are in the archive.",
		),
		described(reads("GET /v1/users/:user_id/profile", "users", "Get a user's display name and avatar",
			nil, wire.Profile{}, readCodes...),
			"Available to the user and to operators (score:operate). not_found: the user has set neither."),
		described(writes("PUT /v1/users/:user_id/profile", "users", "Set a user's display name and avatar",
			wire.ProfileRequest{}, wire.Profile{},
			with(readCodes, wire.CodeGone, tooLarge, mediaType)...),
			"Available to the user and to operators (score:operate)."),
		described(reads("GET "+pathPrivacy, "users", "Get who sees a user on boards",
			nil, wire.Privacy{}, readCodes...),
			"Available to the user and to operators (score:operate)."),
		described(writes("PUT "+pathPrivacy, "users", "Set who sees a user on boards",
			wire.PrivacyRequest{}, wire.Privacy{},
			with(readCodes, wire.CodeGone, tooLarge, mediaType)...),
			"Available to the user and to operators (score:operate). Users who may not see the user see a pseudonym "+
				"that begins with ~, the same on all boards of a family. private: the user is on no board, friends "+
				"see the user, and the user may go on writing; back on the boards, the scores and their times are "+
				"the same. A user can stop being private six times within an hour. The change is in force on the node "+
				"that answers, and within a second on the others; pending is true if some boards still show the user "+
				"under the pseudonym, or do not show the user again yet."),
		described(reads("GET "+pathLeague+"/me", "leagues", "Get the place of the token's user in a league",
			[]param{{"k", "integer", "players above and below the user, 0 to 50"}}, wire.LeaguePlace{}, readCodes...),
			"Division, cohort, rank in it, what that would lead to at the end of the period, and the time left. The "+
				"board is a league, for its current period, or a period."),
		described(reads("GET "+pathLeague+"/users/:user_id", "leagues", "Get the place of a user in a league",
			[]param{{"k", "integer", "players above and below the user, 0 to 50"}}, wire.LeaguePlace{}, readCodes...),
			"Available to the user (also as me), to servers and to operators."),
		described(reads("GET "+pathLeague+"/cohorts/:id", "leagues", "List the standings of a cohort", []param{
			{"after", "integer", "next_after of the previous page: the last rank on it"},
			{"limit", "integer", "maximum number of players, 1 to 200; all by default"},
		}, wire.Cohort{}, readCodes...),
			"Best first, with ranks in the cohort. Users are shown as on the board."),
		described(reads("GET "+pathLeagues, "leagues", "List what the ends of periods have decided about a user",
			[]param{
				{"league", "string", "only periods of this league"},
				{"before", "integer", "next_before of the previous page"},
				{"limit", "integer", "maximum number of outcomes, 1 to 1000; 100 by default"},
			}, wire.LeagueHistory{}),
			"Newest first. Available to the user (also as me), to servers and to operators."),
		described(reads("GET "+pathRewards, "rewards", "List the rewards of a user, newest first",
			[]param{
				{
					"state", "string",
					"only rewards in this state: claimable, claimed, revoked or expired; all by default",
				},
				{"before", "integer", "next_before of the previous page"},
				{"limit", "integer", "maximum number of rewards, 1 to 1000; 100 by default"},
			}, wire.Rewards{}),
			"Available to the user (also as me), to servers and to operators."),
		described(writes("POST "+pathRewards+"/:id/claim", "rewards", "Claim a reward", nil, wire.Reward{},
			notFound, conflict, wire.CodeGone, tooLarge, mediaType),
			"Available to the user (also as me) and to servers. A reward is claimed once: each repeat "+
				"gets the same response. A conflict says that the reward was revoked, gone that it has expired, "+
				"forbidden that the user is banned or frozen."),
		reads("GET /v1/leaderboard/friends", "friends", "Get the standings of the token's user and the user's friends",
			[]param{queryBoardParam}, wire.List{}, readCodes...),
		described(reads("GET "+pathFriends, "friends", "List friends and requests",
			[]param{
				{"state", "string", "mutual (default): friends; requested: users asked; received: users who asked"},
				{"after", "string", "next_after of the previous page"},
				{"limit", "integer", "maximum number of users, 1 to 500; 100 by default"},
			}, wire.Friends{}), "In the order of user ids."),
		described(writes("PUT "+pathFriends+"/:user_id", "friends", "Ask a user to be a friend, or accept a request",
			nil, wire.Friend{}, wire.CodeConflict, wire.CodeGone, tooLarge, mediaType),
			"Two users are friends once both have asked. A user has at most 500 friends and requests: a conflict "+
				"says so. The response does not tell whether the other user exists."),
		described(reads("DELETE "+pathFriends+"/:user_id", "friends",
			"End a friendship, take back a request or decline one", nil, wire.Friend{}),
			"The other user is not told, and may ask again."),
		described(writes("POST /v1/friends", "friends", "Import pairs of friends",
			wire.FriendPairs{}, wire.FriendsImported{}, wire.CodeConflict, wire.CodeGone, tooLarge,
			mediaType), "Makes the users of each pair friends, all pairs or none. Requires the scope score:update."),
		described(reads("GET /v1/boards/:board/teams", "teams", "List the teams of a board",
			[]param{
				{"after", "string", "next_after of the previous page"},
				{"limit", "integer", "maximum number of teams, 1 to 1000; 100 by default"},
			}, wire.Teams{}, append(readCodes, wire.CodeRuleViolated)...),
			"By name. Requires the scope score:update or score:operate."),
		described(reads("GET /v1/boards/:board/teams/:team/members", "teams", "List the members of a team",
			[]param{
				{"history", "string", "1 to list memberships that have ended too"},
				{"after", "integer", "next_after of the previous page"},
				{"limit", "integer", "maximum number of memberships, 1 to 1000; 100 by default"},
			}, wire.TeamMembers{}, append(readCodes, wire.CodeRuleViolated)...),
			"In the order of joining. Requires the scope score:update or score:operate."),
		described(writes("PUT /v1/boards/:board/teams/:team/members/:user_id", "teams", "Add a user to a team",
			nil, wire.TeamMember{}, wire.CodeNotFound, wire.CodeConflict, wire.CodeGone,
			wire.CodeBoardClosed, wire.CodeRuleViolated, tooLarge, mediaType),
			"Ends the user's membership of another team of the board. A member stays one. A conflict says that the "+
				"team is full. Requires the scope score:update."),
		described(reads("DELETE /v1/boards/:board/teams/:team/members/:user_id", "teams", "Remove a user from a team",
			nil, wire.TeamMember{}, append(readCodes, wire.CodeBoardClosed, wire.CodeRuleViolated)...),
			"Returns the last membership, also if it had ended before. Requires the scope score:update."),
		reads("GET /v1/realtime/token", "realtime", "Get a join ticket, valid for 30 seconds",
			[]param{queryBoardParam}, wire.JoinTicket{}, readCodes...),
		{
			route: "GET " + pathRealtime, tag: "realtime", summary: "Follow a board",
			more: "Upgrades to a WebSocket or, with Accept: text/event-stream, sends server-sent events. " +
				"Both send the same messages.",
			query: []param{
				queryBoardParam,
				{"token", "string", "join ticket, for clients that cannot set headers"},
				{"delta", "string", "1 to receive changes instead of full states"},
				{"friends", "string", "1 to receive the standings of the user's friends too"},
				{"cohort", "string", "1 to receive the standings of the user's cohort in a league too"},
				{"limit", "integer", "number of rows, 10 or 100; by default the setting reads.top_n"},
				{"last_event_id", "string", "id of the last event received, for clients that cannot set Last-Event-ID"},
				{"lastEventId", "string", "the same, as polyfills of EventSource send it"},
			},
			answers: map[int]any{101: nil, 200: stream{wire.Message{}}},
			codes:   with(readCodes, wire.CodeTokenUsed),
		},
	}
}

func boardOperations() []operation {
	change := func(route, summary string, body any, codes ...wire.Code) operation {
		answer := any(wire.Board{})
		if _, roll := body.(wire.RollRequest); roll {
			answer = wire.Rolled{}
		}
		return writes(route, "boards", summary, body, answer, with(adminCodes, codes...)...)
	}
	return []operation{
		reads("GET /v1/boards", "boards", "List boards",
			[]param{
				{"family", "string", "only instances of this family"},
				{"period", "string", "only boards with this period: none, daily, weekly, monthly, season or cron"},
				{"region", "string", "only boards in this region"},
				{"platform", "string", "only boards of this platform"},
				{"tag", "string", "only boards with this tag"},
				{"status", "string", "only boards with this status: active, frozen or archived"},
				{"after", "string", "next_after of the previous page"},
				queryLimit,
			},
			wire.Boards{}, notFound),
		reads("GET /v1/boards/:board", "boards", "Get a board", nil, wire.Board{}, readCodes...),
		previewed(created(change("POST /v1/boards", "Create a board", wire.BoardRequest{}, conflict))),
		change("PATCH /v1/boards/:board", "Change a board's labels, or what its increments must carry",
			wire.BoardChange{}, notFound, conflict),
		change("POST /v1/boards/:board/freeze", "Freeze a board: reject its writes", nil, notFound, conflict),
		change("POST /v1/boards/:board/unfreeze", "Unfreeze a board", nil, notFound, conflict),
		change(
			"POST /v1/boards/:board/archive",
			"Archive a board: read-only, served from PostgreSQL",
			nil,
			notFound,
			conflict,
		),
		change("POST /v1/boards/roll", "End and start the periods that are due, in all families",
			wire.RollRequest{}, conflict),
		change("POST /v1/boards/:board/roll", "End and start the period that is due in one family, or start a season",
			wire.RollRequest{}, notFound, conflict),
		reads("GET /v1/boards/:board/standings", "boards", "List the final standings of a period that has ended",
			[]param{queryAfter, queryLimit}, wire.FinalStandings{}, with(readCodes, conflict)...),
		described(reads("GET "+pathBoardRewards, "rewards", "Get the table of rewards of a board", nil,
			wire.RewardTable{}, readCodes...),
			"Of a period that has ended: the table that its rewards follow from. Without bands, nobody gets anything."),
		described(writes("PUT "+pathBoardRewards, "rewards", "Set the table of rewards of a periodic board",
			wire.RewardTableRequest{}, wire.RewardTable{}, with(adminCodes, notFound, conflict)...),
			"Periods that end later grant by it; those that have ended keep their table."),
		described(reads("GET "+pathJoin, "tournaments", "Get how many have joined a period, and whether a user has",
			[]param{{"user_id", "string", "user (requires score:update or score:operate); the token's by default"}},
			wire.Participation{}, with(joinCodes, wire.CodeJoinClosed)...),
			"Of a board: of the period that a join means, else of the earliest that has not ended. Who else has "+
				"joined is not shown."),
		described(joins("POST "+pathJoin, "Join a period", wire.CodeTournamentFull, wire.CodeOverloaded),
			"Of a board: the next period that can be joined. A repeat changes nothing. join_closed says that the "+
				"period has begun and its board allows no late joins, that it has ended, or that none is planned."),
		described(joins("DELETE "+pathJoin, "Leave a period before it begins"),
			"Of a board: the next period that has not begun. A repeat changes nothing. join_closed says that it has "+
				"begun."),
	}
}

var joinCodes = []wire.Code{notFound, wire.CodeBoardClosed, wire.CodeRuleViolated}

// joins is an operation by which a user joins or leaves a period.
func joins(route, summary string, codes ...wire.Code) operation {
	o := reads(route, "tournaments", summary,
		[]param{{"user_id", "string", "user (requires score:update); the token's by default"}}, wire.Participation{},
		with(with(with(joinCodes, adminCodes...), wire.CodeJoinClosed, wire.CodeGone), codes...)...)
	return o
}

func adminOperations() []operation {
	read := func(route, summary string, query []param, answer any, codes ...wire.Code) operation {
		return reads(route, "admin", summary, query, answer, codes...)
	}
	write := func(route, summary string, body, answer any, codes ...wire.Code) operation {
		return writes(route, "admin", summary, body, answer, with(adminCodes, codes...)...)
	}
	status := func(verb, summary string) operation {
		return write("POST /v1/admin/users/:user_id/"+verb, summary,
			wire.ReasonRequest{}, wire.UserState{}, notFound, conflict, wire.CodeGone)
	}
	job := func(route, summary string, body any, codes ...wire.Code) operation {
		return write(route, summary, body, ndjson{wire.JobLine{}}, codes...)
	}
	undo := write("POST /v1/admin/voids/:id/undo", "Undo a void (within 30 days)",
		wire.ReasonRequest{}, nil, notFound, conflict, wire.CodeGone)
	undo.answers = map[int]any{202: wire.Void{}}
	void := described(write("POST /v1/admin/voids", "Reverse all events of a key or an address in a time range",
		wire.VoidRequest{}, nil, notFound), "A dry run only counts the events that would be reversed.")
	void.answers = map[int]any{200: wire.VoidPreview{}, 202: wire.Void{}}
	return []operation{
		created(write("POST /v1/admin/keys", "Create a signing key and show its secret once",
			wire.KeyRequest{}, wire.Key{}, notFound, conflict)),
		read("GET /v1/admin/board-rules", "List the boards that have a rule", nil, wire.BoardRules{}),
		write("PUT /v1/admin/board-rules/:board", "Set the rule that decides which increments count on a board",
			wire.BoardRuleRequest{}, wire.BoardRule{}, notFound, conflict),
		read("DELETE /v1/admin/board-rules/:board", "Clear the rule of a board", nil, wire.Board{}, notFound),
		read("GET /v1/admin/keys", "List signing keys", nil, wire.Keys{}),
		write("POST /v1/admin/keys/:key_id/rotate", "Replace a key's secret; the old one stays valid for a while",
			wire.RotateRequest{}, wire.Key{}, notFound, conflict),
		read("DELETE /v1/admin/keys/:key_id", "Revoke a signing key", nil, wire.Key{}, notFound),
		described(write("POST /v1/admin/master-key/rotate", "Encrypt all stored secrets with the first master key",
			nil, wire.MasterKeyRotation{}), "For a rotation of the setting auth.master_key. It can be repeated."),
		created(write("POST /v1/admin/webhooks", "Create a webhook and show its secret once",
			wire.WebhookRequest{}, wire.Webhook{}, notFound, conflict)),
		read("GET /v1/admin/webhooks", "List webhooks", nil, wire.Webhooks{}),
		write("POST /v1/admin/webhooks/:webhook_id/rotate",
			"Replace a webhook's secret; messages are signed with both for a while",
			wire.RotateRequest{}, wire.Webhook{}, notFound),
		write("POST /v1/admin/webhooks/:webhook_id/enable", "Enable a disabled webhook", nil,
			wire.Webhook{}, notFound),
		accepted(write("POST /v1/admin/webhooks/:webhook_id/test", "Send a message of the type webhook.test",
			nil, wire.WebhookDelivery{}, notFound, conflict)),
		read("DELETE /v1/admin/webhooks/:webhook_id", "Delete a webhook with its deliveries",
			nil, wire.Webhook{}, notFound),
		read("GET /v1/admin/webhooks/:webhook_id/deliveries", "List the messages to a webhook, newest first",
			[]param{
				{"state", "string", "only deliveries in this state: pending, delivered, failed or all (the default)"},
				{"before", "integer", "next_before of the previous page"},
				queryLimit,
			},
			wire.WebhookDeliveries{}, notFound),
		accepted(write("POST /v1/admin/webhooks/:webhook_id/deliveries/:id/retry", "Send a message again",
			nil, wire.WebhookDelivery{}, notFound)),
		created(write("POST /v1/admin/tokens", "Issue a token for a user (development issuer only)",
			wire.TokenRequest{}, wire.Token{})),
		read("GET /v1/admin/audit", "List changes by operators, newest first",
			[]param{
				{"who", "string", "only changes by this operator"},
				{"action", "string", "only this action, such as user.ban"},
				{"target", "string", "only changes to this target, such as user:alice"},
				queryFrom, queryTo,
				{"cursor", "integer", "next_cursor of the previous page"},
				queryLimit,
			},
			wire.AuditEntries{}),
		read("GET /v1/admin/audit/verify", "Verify the hashes over the audit trail",
			[]param{{"head", "string", "a head of the chain from a server's log, which must be in it: 12:9f86…"}},
			wire.AuditChain{}),
		described(read("GET /v1/admin/users", "Find users by the start of their display name",
			[]param{
				{"name", "string", "start of the display name; case is ignored"},
				{"after", "string", "next_after of the previous page"},
				queryLimit,
			}, wire.FoundUsers{}),
			"Operators also find users whom others see under a pseudonym. Erased users have no name."),
		read("GET /v1/admin/users/:user_id", "Get a user's status and its reason, scores and open flags",
			nil, wire.User{}, readCodes...),
		status("ban", "Ban a user: block writes and hide the user from rankings"),
		status("unban", "Unban a user and restore the scores"),
		status("freeze", "Block a user's writes; the user stays visible"),
		status("unfreeze", "Unfreeze a user: accept writes again"),
		write("POST /v1/admin/users/:user_id/adjust", "Adjust a user's score", wire.AdjustRequest{},
			wire.Receipt{}, notFound, wire.CodeEventConflict, wire.CodeBoardClosed,
			wire.CodeDeltaOutOfRange, wire.CodeScoreOutOfRange, wire.CodeGone),
		read("GET /v1/admin/users/:user_id/export", "Export all data about a user, one row per line",
			nil, ndjson{wire.ExportLine{}}, readCodes...),
		write("POST /v1/admin/users/:user_id/erase", "Erase a user; the ledger is kept under an anonymous name",
			wire.ReasonRequest{}, wire.Erased{}, notFound, conflict),
		write("POST /v1/admin/events/:event_id/reverse", "Reverse an event on all its boards",
			wire.ReverseRequest{}, oneOf{wire.Receipt{}, wire.Receipts{}},
			notFound, conflict, wire.CodeBoardClosed, wire.CodeScoreOutOfRange, wire.CodeGone),
		read("GET /v1/admin/settings", "List all settings with their effective values and sources",
			nil, wire.Settings{}),
		write("PUT /v1/admin/settings", "Change several settings on all nodes, together or not at all",
			wire.SettingsRequest{}, wire.Settings{}, notFound),
		write("PUT /v1/admin/settings/:name", "Change a setting on all nodes, or reset it to its deployed value",
			wire.SettingRequest{}, wire.Setting{}, notFound),
		read("GET /v1/admin/flags", "List flagged events, oldest first",
			[]param{
				{"state", "string", "only flags in this state: open (the default), dismissed, confirmed or all"},
				{"user_id", "string", "only flags of this user"},
				queryAfter, queryLimit,
			},
			wire.Flags{}),
		described(read("GET "+pathCohorts, "List the cohorts of a period of a league", []param{
			{"division", "integer", "only cohorts of this division; 1 is the lowest"},
			{"after", "integer", "next_after of the previous page"},
			{"limit", "integer", "maximum number of cohorts, 1 to 1000; 100 by default"},
		}, wire.Cohorts{}, notFound), "By their ids, in the order in which they were opened. The board is a league, "+
			"for its current period, or a period."),
		described(write("POST /v1/admin/leagues/:board/recompute", "Recompute the outcomes of a period of a league",
			wire.LeagueRecomputeRequest{}, wire.LeagueRecomputed{}, notFound, conflict),
			"From the ledger without the events that reversals and voids name; the sealed standings stay. A "+
				"page has some cohorts. With apply, what differs is stored as a new revision, and the players move: "+
				"each by the difference, wherever the player is by now. A conflict says that the period has not been "+
				"decided."),
		described(read("GET /v1/admin/rewards", "List the rewards of a period", []param{
			{"board", "string", "the period, such as weekly:2026-w47"},
			{"state", "string", "only rewards in this state: claimable, claimed, revoked or expired; all by default"},
			{"after", "string", "next_after of the previous page"},
			{"limit", "integer", "maximum number of rewards, 1 to 1000; 100 by default"},
		}, wire.BoardRewards{}), "By user id. With a state, a page may be empty and yet have next_after. Those of a "+
			"user are at /v1/users/{user_id}/rewards."),
		described(created(write("POST /v1/admin/rewards", "Grant a reward to a user",
			wire.RewardRequest{}, wire.Reward{}, notFound, conflict, wire.CodeGone)),
			"In a period that has ended, whatever its table says. A conflict says that the user has a reward of the "+
				"period; revoke it first."),
		described(write("POST /v1/admin/rewards/:id/revoke", "Revoke a reward that is not claimed",
			wire.ReasonRequest{}, wire.Reward{}, notFound, conflict), "A conflict says that it is claimed."),
		described(read("GET /v1/admin/boards/:board/players", "List the users who have joined a period", []param{
			{"after", "string", "next_after of the previous page"},
			{"limit", "integer", "maximum number of players, 1 to 1000; 100 by default"},
		}, wire.Players{}, readCodes...), "By user id. The board is a period, such as cup:spring."),
		described(write("PUT /v1/admin/boards/:board/players/:user_id", "Add a user to a period",
			nil, wire.Participation{}, with(joinCodes, wire.CodeJoinClosed, wire.CodeTournamentFull, wire.CodeGone)...),
			"Whether it has begun or not."),
		described(write("DELETE /v1/admin/boards/:board/players/:user_id", "Remove a user from a period",
			nil, wire.Participation{}, notFound, wire.CodeRuleViolated),
			"Whether it has begun or not. What the user has scored stays; later submissions are not_joined."),
		read("GET /v1/admin/flags/:id", "Get a flag", nil, wire.Flag{}, readCodes...),
		write("POST /v1/admin/flags/:id/dismiss", "Dismiss a flag",
			wire.ReasonRequest{}, wire.Flag{}, notFound, conflict),
		write("POST /v1/admin/flags/:id/confirm", "Confirm a flag",
			wire.ReasonRequest{}, wire.Flag{}, notFound, conflict),
		void,
		read("GET /v1/admin/voids", "List voids, newest first", nil, wire.Voids{}),
		read("GET /v1/admin/voids/:id", "Get the progress of a void", nil, wire.Void{}, readCodes...),
		undo,
		read("GET /v1/admin/checks", "Run the health checks of the server and its backends",
			nil, wire.Checks{}),
		read("GET /v1/admin/status", "Get the status of the node and of one board",
			[]param{queryBoardParam, {"history", "string", "1 for the last hour of the node that answers, too"}},
			wire.Status{}, readCodes...),
		read("GET /v1/admin/outbox", "Get the backlog of the outbox", nil, wire.Outbox{}),
		read("GET /v1/admin/dead-letters", "List dead letters, oldest first",
			[]param{queryAfter, queryLimit}, wire.DeadLetters{}),
		read("GET /v1/admin/dead-letters/:id", "Get a dead letter with its value",
			nil, wire.DeadLetter{}, readCodes...),
		read("POST /v1/admin/dead-letters/:id/requeue", "Process a dead letter again, and delete it",
			nil, wire.DeadLetter{}, with(readCodes, conflict, wire.CodeGone, tooLarge, mediaType)...),
		read("DELETE /v1/admin/dead-letters/:id", "Delete a dead letter", nil, wire.DeadLetter{}, readCodes...),
		read("GET /v1/admin/boards/:board/ranking", "Get the state of a board's ranking",
			nil, wire.RankingStatus{}, readCodes...),
		read("GET /v1/admin/boards/:board/export", "Export a board in the order of its ranks, one standing per line",
			nil, ndjson{wire.ExportLine{}}, with(readCodes, conflict)...),
		described(write("POST /v1/admin/imports", "Start or continue the import of another system's board",
			wire.ImportRequest{}, wire.Import{}, notFound),
			"A dry run only shows what was imported before."),
		read("GET /v1/admin/imports", "List imports, newest first",
			[]param{{"before", "integer", "next_before of the previous page"}, queryLimit}, wire.Imports{}),
		described(read("GET /v1/admin/imports/:id/summary", "Summarise what a board has of the imported users",
			nil, wire.ImportSummary{}, with(readCodes, conflict)...),
			"Compares a million users with another system without sending them. It reads the whole board."),
		write("POST /v1/admin/imports/:id/records", "Import scores: what has changed since they were imported before",
			wire.ImportRecords{}, wire.ImportedRecords{}, notFound, wire.CodeBoardClosed),
		described(read("GET /v1/admin/jobs", "List the jobs of all nodes, newest first",
			[]param{{"before", "integer", "next_before of the previous page"}, queryLimit}, wire.Jobs{}),
			"A job is a rebuild, a verification, a reconciliation, a replay, a what-if or an archiving of the ledger. "+
				"The newest 200 are kept, for up to 30 days. A job is lost if its node has not reported it for 30 "+
				"seconds."),
		read("GET /v1/admin/jobs/:id", "Show a job with its progress or result", nil, wire.Job{}, notFound),
		described(write("POST /v1/admin/jobs/:id/stop", "Stop a job", nil, wire.Job{}, notFound, conflict),
			"The node that runs the job stops it within two seconds. Jobs leave everything consistent when they stop."),
		job("POST /v1/admin/rebuild", "Rebuild rankings from PostgreSQL while they stay online",
			wire.JobRequest{}, notFound, conflict, wire.CodeGone),
		job("POST /v1/admin/verify", "Compare ledger, scores and ranking", wire.JobRequest{},
			notFound, conflict, wire.CodeGone),
		job("POST /v1/admin/reconcile", "Compare scores and ranking, and repair the ranking if requested",
			wire.JobRequest{}, notFound, conflict, wire.CodeGone),
		described(job("POST /v1/admin/what-if",
			"Show what a board would look like if other rules had been in force since a time",
			wire.WhatIfRequest{}, notFound, conflict),
			"It changes nothing, unless apply is set: then the rejected events are voided."),
		job("POST /v1/admin/replay", "Apply retained events or dead letters again",
			wire.ReplayRequest{}, notFound, conflict, wire.CodeGone),
		job("POST /v1/admin/ledger/archive", "Move old ledger partitions to the archive",
			wire.ArchiveRequest{}, conflict),
		described(job("POST /v1/admin/ledger/checkpoint", "Read the archive for a board at a past moment",
			wire.CheckpointRequest{}, notFound, conflict),
			"Use it if the database no longer has the events before the moment. For seven days, reads of the board "+
				"with the same at are then answered."),
	}
}
