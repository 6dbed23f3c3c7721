package api

// fieldMeanings describe the fields that several types share, by their JSON name. The
// comment on a field of package protocol comes first: what only one type has, or means
// otherwise, is described there.
var fieldMeanings = map[string]string{
	"action_min": "minimum duration between the start of an action and its increment, such as 30s; 0s means none",
	"action_ttl": "lifetime of an action token, 1s to 168h, such as 1h",
	"age_ms":     "age of the response in milliseconds: the time since as_of",
	"as_of":      "everything that was committed before this time is included",
	"attempts":   "number of attempts so far that failed",
	"avatar_url": "URL of the user's avatar: https, up to 512 characters",
	"board": "name of the board: 1 to 48 of the characters a-z 0-9 _ . and -, and for the board of one period a " +
		"colon and the period, such as daily:2026-11-21",
	"board_state": "state of the board's ranking: HEALTHY, CATCHING_UP or DEGRADED_REBUILDING",
	"closed_at":   "time at which the final standings were stored",
	"created_at":  "time of creation",
	"degraded":    "true if the response is not from a healthy ranking",
	"degraded_reason": "why the response is degraded: rebuilding, ranking_unavailable, not_ranked_yet, " +
		"store_unavailable, replica_behind, stale or archived",
	"display_name": "name to show beside the score, 1 to 32 characters",
	"dry_run":      "true: only report what would be done, and change nothing",
	"ends_at":      "end of the season, exclusive; after its start",
	"epoch":        "number of the ranking, which rises with each rebuild; null if the response is degraded",
	"event_id": "id of the event, as the client sent it: 1 to 128 of the characters A-Z a-z 0-9 . _ : @ and -; " +
		"an id counts once for each user",
	"expires_at":         "time at which it expires",
	"from":               "start of the time range, inclusive",
	"key_id":             "id of the signing key, such as k_4q7rz2mbx5ta",
	"max_delta":          "maximum delta of an increment, in points within ±(2^53 − 1)",
	"max_score":          "maximum score on the board, in points within ±(2^53 − 1)",
	"min_delta":          "minimum delta of an increment, in points within ±(2^53 − 1)",
	"min_score":          "minimum score on the board, in points within ±(2^53 − 1)",
	"next_at":            "time of the next attempt",
	"next_cursor":        "value of cursor for the next page; absent on the last page",
	"period_end":         "end of the period, exclusive",
	"period_start":       "start of the period, inclusive",
	"previous_score":     "the user's score before the event, in points; null if the user had none",
	"processed_event_id": "id of the event, as the client sent it",
	"rank":               "rank on the board, from 1",
	"reached_at":         "time at which the user reached the score; of equal scores, the earlier one ranks first",
	"reason":             "the operator's reason, 1 to 500 characters",
	"recorded_at":        "time at which the event was recorded, by the clock of PostgreSQL",
	"score":              "the user's score on the board, in points within ±(2^53 − 1)",
	"standings_hash":     "SHA-256 of the final standings, in hex",
	"starts_at":          "start of the season, inclusive",
	"to":                 "end of the time range, exclusive",
	"token":              "the token, for the header Authorization: Bearer",
	"took_ms":            "duration in milliseconds",
	"total":              "number of users on the board",
	"updated_at":         "time of the last change",
	"user_id":            "id of the user: 1 to 64 of the characters A-Z a-z 0-9 . _ : @ and -",
	"version": "version of the board's top 100, which rises within an epoch; null if the response is " +
		"degraded",
}
