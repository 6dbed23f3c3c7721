package api

// descriptions say of operations what their summaries do not, where the table of operations does
// not say it.
var descriptions = map[string]string{
	"GET /": "Lists the address of the documentation, of this document and of what anonymous clients may read.",
	"GET /assets/:file": "The names contain a hash of the content, so that caches keep them for a year. " +
		"Only score-board.js, which other sites load by its name, has none.",
	"GET /b/:board/card.svg": "An SVG picture of 1200 by 630 pixels, for previews of links in chats and " +
		"networks.",
	"GET /b/:board/players/:user_id":         "As /v1/users/{user_id}/rank, for anonymous clients.",
	"GET /b/:board/players/:user_id/history": "As /v1/users/{user_id}/history, for anonymous clients.",
	"GET /b/:board/top":                      "As /v1/leaderboard/top, for anonymous clients.",
	"GET /docs":                              "Served from the server itself, in the version that it runs.",
	"GET /docs/:page": "A page by its name, such as docs/signing, or a file that a page links " +
		"to.",
	"GET /openapi.json":  "The document describes the version of the server that answers.",
	"GET /asyncapi.json": "AsyncAPI 3: WebSocket, event stream and webhooks, with an example of each message.",
	"POST /v1/actions": "For boards that require an action token. The token goes into the action_token of the " +
		"increment, once.",
	"GET /v1/admin/audit": "The filters apply together. Entries cannot be changed or deleted.",
	"GET /v1/admin/audit/verify": "Walks the chain of hashes and reports the first break. With head, it also " +
		"detects that the end was cut off.",
	"GET /v1/admin/board-rules": "The rules decide on which boards an increment without a board counts besides the " +
		"board global.",
	"DELETE /v1/admin/board-rules/:board": "Increments that are recorded from now on no longer count on the board " +
		"by its rule. Scores stay.",
	"PUT /v1/admin/board-rules/:board": "Applies to increments that are recorded from now on. Every given part " +
		"must match, with one of its values.",
	"GET /v1/admin/boards/:board/export": "Streams lines of JSON. A response that ends early is cut off without a " +
		"last line.",
	"GET /v1/admin/boards/:board/ranking": "Says whether the ranking is loaded, how far it is behind the ledger, " +
		"and whether a rebuild runs.",
	"GET /v1/admin/checks": "The checks of sbctl doctor that the server makes itself, with the next step for each " +
		"that fails.",
	"GET /v1/admin/dead-letters": "A dead letter is a record that could not be processed, with its " +
		"error.",
	"DELETE /v1/admin/dead-letters/:id":       "The record is not processed any more. Returns what was deleted.",
	"GET /v1/admin/dead-letters/:id":          "The value is the record as it was received.",
	"POST /v1/admin/dead-letters/:id/requeue": "What has counted already has no effect, so that this can be repeated.",
	"POST /v1/admin/events/:event_id/reverse": "Records a reversal in the ledger. Reversing an event twice has no " +
		"further effect.",
	"GET /v1/admin/flags": "A flag marks an event that the rules for anomalies found suspicious, for " +
		"review.",
	"GET /v1/admin/flags/:id": "With the event, the rule that found it and the values that it " +
		"compared.",
	"POST /v1/admin/flags/:id/confirm": "Closes the flag as right. The user and the event are not changed.",
	"POST /v1/admin/flags/:id/dismiss": "Closes the flag as unfounded. The user and the event are not changed.",
	"GET /v1/admin/imports": "An import brings the boards of another system. Several requests may write its " +
		"records.",
	"POST /v1/admin/imports/:id/records": "Records the difference to what the import has written for each user " +
		"before, and nothing twice.",
	"GET /v1/admin/jobs/:id": "A job that runs reports its progress every few seconds, from whichever node runs " +
		"it.",
	"GET /v1/admin/keys": "Without their secrets, which are shown when a key is created or rotated " +
		"only.",
	"POST /v1/admin/keys": "The secret is in this response only. A key can be limited to boards, a prefix of user " +
		"ids and a rate.",
	"DELETE /v1/admin/keys/:key_id": "Signatures of the key are rejected from now on. Events that it signed stay " +
		"counted.",
	"POST /v1/admin/keys/:key_id/rotate": "The new secret is in this response only. The old one stays valid for " +
		"the overlap.",
	"POST /v1/admin/ledger/archive": "Moves partitions that are older than ledger.keep to ledger.archive now. " +
		"Streams the progress as lines.",
	"GET /v1/admin/outbox": "For each shard: the node that publishes it, the changes that wait, and the age of the " +
		"oldest.",
	"POST /v1/admin/rebuild": "Reads go on from the old ranking until the new one is complete. Streams the " +
		"progress as lines.",
	"POST /v1/admin/reconcile": "With repair, users whose score and ranking differ are written again. Streams the " +
		"progress as lines.",
	"POST /v1/admin/replay": "Events that the ranking has already change nothing, so that a replay can be " +
		"repeated.",
	"GET /v1/admin/settings": "The values of secrets are left out. The source says where a value comes " +
		"from.",
	"PUT /v1/admin/settings": "If one value is invalid, nothing changes. All nodes follow within two " +
		"seconds.",
	"PUT /v1/admin/settings/:name": "Overrides flag, environment and file. All nodes follow within two " +
		"seconds.",
	"GET /v1/admin/status": "Rates, latency, lag and connections are those of the node that " +
		"answers.",
	"POST /v1/admin/tokens": "Only with the setting auth.dev_issuer, for development. In production the identity " +
		"provider issues tokens.",
	"GET /v1/admin/users/:user_id": "With who changed the status, when and why.",
	"POST /v1/admin/users/:user_id/adjust": "The delta and, on a board with subscores, the subscore are added, " +
		"whatever the board's mode. The same event_id does not adjust twice.",
	"POST /v1/admin/users/:user_id/ban": "Rejects the user's writes and hides the user from all boards.",
	"POST /v1/admin/users/:user_id/erase": "Deletes addresses, user agents, the profile and rejected events. It " +
		"cannot be undone.",
	"GET /v1/admin/users/:user_id/export": "Without events in the ledger's archive. The audit trail records each " +
		"export.",
	"POST /v1/admin/users/:user_id/freeze":   "Rejects the user's writes until the user is unfrozen.",
	"POST /v1/admin/users/:user_id/unban":    "Shows the user on boards again, with the score of before.",
	"POST /v1/admin/users/:user_id/unfreeze": "Accepts the user's writes again.",
	"POST /v1/admin/verify":                  "Changes nothing. Streams the differences and the progress as lines.",
	"GET /v1/admin/voids": "A void reverses all events of a selection, such as those of a key or an " +
		"address.",
	"GET /v1/admin/voids/:id":       "Counts the events that are reversed, failed and left.",
	"POST /v1/admin/voids/:id/undo": "The events count again. It continues in the background.",
	"GET /v1/admin/webhooks":        "With their state, and without their secrets.",
	"POST /v1/admin/webhooks": "The secret is in this response only. Messages are signed as Standard Webhooks " +
		"describes.",
	"DELETE /v1/admin/webhooks/:webhook_id":    "Pending messages are not sent any more.",
	"POST /v1/admin/webhooks/:webhook_id/test": "Shows whether the receiver answers and verifies the signature.",

	"GET /v1/admin/webhooks/:webhook_id/deliveries": "With the status and the error of the last try of " +
		"each.",
	"POST /v1/admin/webhooks/:webhook_id/deliveries/:id/retry": "The message is sent again soon, with the same id, " +
		"by which receivers detect repeats.",
	"POST /v1/admin/webhooks/:webhook_id/enable": "Pending messages are sent first.",
	"POST /v1/admin/webhooks/:webhook_id/rotate": "The new secret is in this response only. Messages are signed " +
		"with both during the overlap.",

	"GET /v1/boards": "By name. A family has periods, each of which is a board of its own.",
	"POST /v1/boards": "What a board counts, its order, mode and period, cannot be changed later. " +
		"With dry_run, nothing is created: the answer is a 200 with the board and its next ten resets.",
	"POST /v1/boards/roll":           "The server does this automatically, too.",
	"GET /v1/boards/:board":          "Of a family, the state of its current period.",
	"PATCH /v1/boards/:board":        "Fields that are left out stay as they are.",
	"POST /v1/boards/:board/archive": "The ranking is removed from Redis. It cannot be undone.",
	"POST /v1/boards/:board/freeze":  "Reads work as before.",
	"POST /v1/boards/:board/roll":    "Starting a season ends the current one.",
	"GET /v1/boards/:board/standings": "They are stored when the period is closed, do not change afterwards, and " +
		"are sealed by a hash.",
	"POST /v1/boards/:board/unfreeze": "Accepts the board's writes again.",
	"GET /v1/events/:event_id":        "An event that is queued has a status; one that is recorded has a receipt.",
	"GET /v1/leaderboard/friends":     "Ranks are those on the whole board.",
	"GET /v1/leaderboard/me":          "With k, also the rows above and below.",
	"POST /v1/leaderboard/users":      "Users without a score on the board are in not_found.",
	"GET /v1/realtime/token": "For clients that cannot send the header Authorization, such as WebSockets in " +
		"browsers.",
	"GET /v1/users/:user_id/rank":  "user_id may be me. With k, also the rows above and below.",
	"GET /v1/users/:user_id/score": "As /v1/users/{user_id}/rank, without neighbours unless k asks for them.",
}
