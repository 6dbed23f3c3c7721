package config

import (
	"slices"
	"strconv"
)

// alias is another name of a setting in the environment: that of a specification. What
// it is set to has the form of the setting, unless parse says otherwise.
type alias struct {
	name  string
	parse func(string) string
}

// deltaAliases are the names of specification C, section 19, by setting.
var deltaAliases = map[string]alias{
	"reads.top_n":              {name: "LEADERBOARD_TOP_N"},
	"dialect.delta.min_delta":  {name: "SCORE_DELTA_MIN"},
	"dialect.delta.max_delta":  {name: "SCORE_DELTA_MAX"},
	"limit.updates_per_minute": {name: "RATE_LIMIT_POINTS"},
	"limit.updates_window":     {"RATE_LIMIT_DURATION", seconds},
	"auth.jwks_url":            {name: "JWT_JWKS_URL"},
	"auth.issuer":              {name: "JWT_ISSUER"},
	"auth.audience":            {name: "JWT_AUDIENCE"},
	"outbox.poll":              {name: "OUTBOX_POLL_INTERVAL"},
	"outbox.batch":             {name: "OUTBOX_BATCH_SIZE"},
	"realtime.ping":            {name: "WEBSOCKET_PING_INTERVAL"},
}

// aliasesOf returns the aliases, by setting, while some dialects are enabled.
func aliasesOf(dialects []string) map[string]alias {
	if slices.Contains(dialects, DialectDelta) {
		return deltaAliases
	}
	return nil
}

// text is a value as the setting has it.
func (a alias) text(value string) string {
	if a.parse == nil {
		return value
	}
	return a.parse(value)
}

// seconds reads a number without a unit as seconds.
func seconds(value string) string {
	if _, err := strconv.ParseUint(value, 10, 32); err == nil {
		return value + "s"
	}
	return value
}
