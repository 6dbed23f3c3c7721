package api

import (
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The patterns of the document. An optional string accepts "", which is as absent.
const (
	patternName     = `[A-Za-z0-9._:@-]`
	patternBoard    = `[a-z0-9][a-z0-9_.-]{0,47}`
	patternText     = `^[^\u0000-\u001f\u007f-\u009f\ufffd]*$`
	patternDuration = `^\+?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`
)

// alphabet is 1 to limit characters of the alphabet of ids.
func alphabet(limit int) object {
	return object{"pattern": "^" + patternName + "+$", "minLength": 1, "maxLength": limit}
}

func integers(lowest, highest int64) object { return object{"minimum": lowest, "maximum": highest} }

func enum(values ...string) object { return object{"enum": values} }

func text(limit int) object { return object{"pattern": patternText, "maxLength": limit} }

func atLeastOne(bounds object) object { bounds["minLength"] = 1; return bounds }

func list(least, most int) object { return object{"minItems": least, "maxItems": most} }

var (
	userIDs   = alphabet(scoreboard.MaxUserIDLength)
	eventIDs  = alphabet(scoreboard.MaxEventIDLength)
	boardIDs  = object{"pattern": "^" + patternBoard + "(:" + patternBoard + ")?$"}
	families  = object{"pattern": "^" + patternBoard + "$"}
	ids       = integers(1, math.MaxInt64)
	scores    = integers(-scoreboard.MaxScore, scoreboard.MaxScore)
	durations = object{"pattern": patternDuration}
	states    = enum("active", "frozen", "archived")
	periods   = enum("none", "daily", "weekly", "monthly", "season", "cron")
	weekdays  = object{"pattern": "^([Mm][Oo][Nn]|[Tt][Uu][Ee][Ss]|[Ww][Ee][Dd][Nn][Ee][Ss]|[Tt][Hh][Uu][Rr][Ss]|" +
		"[Ff][Rr][Ii]|[Ss][Aa][Tt][Uu][Rr]|[Ss][Uu][Nn])[Dd][Aa][Yy]$"}
)

// pathBounds are the bounds of the parameters of paths.
var pathBounds = map[string]object{
	"user_id": userIDs, "board": boardIDs, "event_id": eventIDs, "key_id": userIDs, "id": ids, "webhook_id": userIDs,
	"team": families,
	"name": text(maxParameter), "page": text(maxParameter), "file": text(maxParameter),
}

// requiredQuery are the query parameters that their routes require.
var requiredQuery = []string{"GET /v1/admin/rewards board", "GET /v1/admin/users name"}

// queryBounds are the bounds of query parameters: of one route, or of all.
var queryBounds = map[string]object{
	"board": boardIDs, "tier": families, "user_id": userIDs, "score": scores,
	"subscore": scores, "k": integers(0, maxNeighbours),
	"min_version": integers(1, maxVersion), "reason": text(scoreboard.MaxReason),
	"wait": durations, "last_event_id": text(maxParameter), "lastEventId": text(maxParameter),
	"token": text(maxParameter), "cursor": text(maxParameter),
	"delta": enum("0", "1"), "friends": enum("0", "1"), "cohort": enum("0", "1"), "family": boardIDs,
	"period": periods, "status": states,
	"region": text(maxParameter), "platform": text(maxParameter), "tag": text(maxParameter),
	"who": text(maxParameter), "action": text(maxParameter), "target": text(maxParameter),
	"state": enum("open", "dismissed", "confirmed", "all"), "from": {}, "to": {},
	"at": {}, "as": enum("recorded", "now"), "step": durations,

	"GET " + pathTop + " limit":                            integers(1, scoreboard.TopSize),
	"GET " + pathTimeline + " limit":                       integers(1, scoreboard.TopSize),
	"GET " + pathPageTimeline + " limit":                   integers(1, scoreboard.TopSize),
	"GET " + pathTop + " after":                            text(maxParameter),
	"GET " + pathRealtime + " limit":                       {"enum": []int{shortStream, scoreboard.TopSize}},
	"GET " + pathPageTop + " limit":                        {"enum": []int{shortStream, scoreboard.TopSize}},
	"GET " + pathPageStream + " limit":                     {"enum": []int{shortStream, scoreboard.TopSize}},
	"GET " + pathPagePlayer + " k":                         integers(0, maxNear),
	"GET /v1/users/:user_id/statement limit":               integers(1, statementPage),
	"GET /v1/boards limit":                                 integers(1, maxBoards),
	"GET /v1/boards after":                                 boardIDs,
	"GET /v1/boards/:board/standings limit":                integers(1, maxBoards),
	"GET /v1/boards/:board/standings after":                integers(0, math.MaxInt64),
	"GET /v1/admin/audit limit":                            integers(1, maxAuditEntries),
	"GET /v1/admin/audit cursor":                           ids,
	"GET /v1/admin/audit/verify head":                      {"pattern": scoreboard.PatternAuditSeal},
	"GET /v1/admin/flags limit":                            integers(1, maxFlags),
	"GET /v1/admin/flags after":                            ids,
	"GET /v1/admin/webhooks/:webhook_id/deliveries state":  enum("pending", "delivered", "failed", "all"),
	"GET /v1/admin/webhooks/:webhook_id/deliveries before": ids,
	"GET /v1/admin/webhooks/:webhook_id/deliveries limit":  integers(1, maxDeliveries),
	"GET /v1/admin/imports before":                         ids,
	"GET /v1/admin/imports limit":                          integers(1, maxImports),
	"GET /v1/admin/jobs before":                            ids,
	"GET /v1/admin/jobs limit":                             integers(1, maxJobsPage),
	"GET /v1/admin/users name":                             atLeastOne(text(scoreboard.MaxDisplayName)),
	"GET /v1/admin/users after":                            userIDs,
	"GET /v1/admin/users limit":                            integers(1, maxFoundUsers),
	"GET /v1/users/me/friends state":                       enum("mutual", "requested", "received"),
	"GET /v1/users/me/friends after":                       userIDs,
	"GET /v1/users/me/friends limit":                       integers(1, scoreboard.MaxFriends),
	"GET " + pathRewards + " state":                        enum("claimable", "claimed", "revoked", "expired", "all"),
	"GET " + pathRewards + " before":                       ids,
	"GET " + pathRewards + " limit":                        integers(1, maxRewards),
	"GET " + pathLeagues + " league":                       families,
	"GET " + pathLeagues + " before":                       ids,
	"GET " + pathLeagues + " limit":                        integers(1, maxOutcomes),
	"GET " + pathCohorts + " division":                     integers(1, scoreboard.MaxDivisions),
	"GET " + pathCohorts + " after":                        ids,
	"GET " + pathCohorts + " limit":                        integers(1, maxCohorts),
	"GET " + pathLeague + "/cohorts/:id after":             integers(0, scoreboard.MaxCohortSize),
	"GET " + pathLeague + "/cohorts/:id limit":             integers(1, scoreboard.MaxCohortSize),
	"GET /v1/admin/rewards state":                          enum("claimable", "claimed", "revoked", "expired", "all"),
	"GET /v1/admin/rewards after":                          userIDs,
	"GET /v1/admin/rewards limit":                          integers(1, maxRewards),
	"GET " + pathJoin + " user_id":                         userIDs,
	"POST " + pathJoin + " user_id":                        userIDs,
	"DELETE " + pathJoin + " user_id":                      userIDs,
	"GET /v1/admin/boards/:board/players after":            userIDs,
	"GET /v1/admin/boards/:board/players limit":            integers(1, maxPlayersPage),
	"GET /v1/boards/:board/teams limit":                    integers(1, maxTeams),
	"GET /v1/boards/:board/teams after":                    families,
	"GET /v1/boards/:board/teams/:team/members limit":      integers(1, maxTeams),
	"GET /v1/boards/:board/teams/:team/members after":      integers(0, math.MaxInt64),
	"GET /v1/boards/:board/teams/:team/members history":    enum("0", "1"),
	"GET /v1/admin/status history":                         enum("0", "1"),
	"GET /v1/admin/dead-letters limit":                     integers(1, maxDeadLetters),
	"GET /v1/admin/dead-letters after":                     integers(0, math.MaxInt64),
}

// bodyBounds are the bounds of the fields of request bodies: of one type, or of all.
// A slice's bounds are those of its items, but for the number of items.
var bodyBounds = map[string]object{
	"user_id": userIDs, "event_id": eventIDs, "board": boardIDs, "reason": text(scoreboard.MaxReason),
	"action": alphabet(scoreboard.MaxActionLength), "delta": scores, "min_delta": scores, "max_delta": scores,
	"min_score": scores, "max_score": scores, "min_subscore": scores, "max_subscore": scores, "subscore": scores,
	"BoardRequest.subscore": enum("none", "highest", "lowest"),
	"ttl":                   durations, "overlap": durations, "min_duration": durations,
	"action_min": durations, "action_ttl": durations, "user_prefix": userIDs,
	"key_id": text(64), "address": text(64),
	"timestamp": {"format": "date-time"}, "signature": text(maxBody), "action_token": text(maxBody),
	"attestation": text(maxBody), "scope": text(maxBody), "mode": enum("increment", "best", "latest"),
	"kind":  enum(string(scoreboard.KindEvent), string(scoreboard.KindAdjustment)),
	"order": enum("highest", "lowest"), "region": families, "platform": families, "tags": families,
	"period": periods, "time_zone": text(64),
	"week_start": weekdays, "season": families, "schedule": text(100),
	"require":    enum(wire.RequireActionToken, wire.RequireAttestation),
	"partitions": integers(1, scoreboard.MaxPartitions),
	"attempts":   integers(0, scoreboard.MaxAttempts),
	"join":       enum(wire.JoinOpen, wire.JoinRequired), "max_players": integers(0, scoreboard.MaxPlayers),
	"late_join": {},
	"title":     text(scoreboard.MaxTitle), "description": text(scoreboard.MaxDescription),
	"color": {"pattern": scoreboard.PatternColor},
	"image": {"pattern": `^https://[A-Za-z0-9.-]+(/[!#$&-;=?-\[\]^_a-z{|}~]*)?$`, "maxLength": scoreboard.MaxImageURL},
	"tiers": {}, "Tier.name": families, "Tier.rank": integers(0, scoreboard.MaxScore),
	"percentile":          {"minimum": 0, "maximum": 100},
	"RewardBand.division": integers(0, scoreboard.MaxDivisions),
	"league":              {}, "divisions": integers(scoreboard.MinDivisions, scoreboard.MaxDivisions),
	"cohort_size": integers(scoreboard.MinCohortSize, scoreboard.MaxCohortSize),
	"League.min":  integers(1, scoreboard.MaxCohortSize), "promote": integers(0, scoreboard.MaxCohortSize),
	"relegate": integers(0, scoreboard.MaxCohortSize), "idle": enum(idleStay, idleRelegate),
	"fill":                         {"pattern": "^(order|attribute " + patternBoard + ")$"},
	"LeagueRecomputeRequest.after": integers(0, math.MaxInt64),
	"bands":                        {},
	"first_rank":                   integers(0, scoreboard.MaxScore), "last_rank": integers(0, scoreboard.MaxScore),
	"tier": families, "reward": {}, "expires": durations, "private": {},
	"topic": text(maxBody), "partition": integers(0, math.MaxInt32), "from_offset": integers(0, math.MaxInt64),
	"per_minute": integers(0, maxKeyRate), "display_name": text(scoreboard.MaxDisplayName),
	"visibility": enum("public", "friends", "pseudonym", "private"),
	"avatar_url": {"pattern": "^https://[!#-;=?-\\[\\]^_a-z{|}~]+$", "maxLength": scoreboard.MaxAvatarURL},
	"value":      text(maxBody), "boards": boardIDs, "user_ids": userIDs,
	"name":   text(maxKeyName),
	"source": alphabet(scoreboard.MaxSourceLength), "score": scores, "records": {},
	"pairs": {}, "friend_id": userIDs,
	"team": {}, "TeamRule.source": families, "aggregate": enum("sum", "average", "best"),
	"best": integers(1, scoreboard.MaxBestMembers), "moves": enum("from_now", "with_points"),
	"items": {}, "settings": {}, "all": {}, "repair": {}, "dry_run": {}, "dlq": {}, "reset": {}, "force": {},
	"open_boards": {},
	"actions":     alphabet(scoreboard.MaxActionLength), "regions": alphabet(scoreboard.MaxAttributeValue),
	"attributes": {"maxProperties": scoreboard.MaxAttributes}, "if_period": boardIDs,
	"metadata": enum("none", "self", "public"), "IncrementRequest.metadata": {}, "ImportRecord.metadata": {},
	"since": {}, "at": {}, "rules": {}, "apply": {}, "anomaly": {}, "digest": {"pattern": "^([0-9a-f]{64})?$"},
	"cooldown": durations, "ties": enum("first", "last", "shared"), "BoardRequest.ties": enum("unique", "shared"),
	"void_users": userIDs, "void_keys": atLeastOne(text(64)),
	"size_factor": integers(0, math.MaxInt64), "frequency_max": text(64), "amount_max": text(64),
	"travel_window":       durations,
	"WhatIfRequest.limit": integers(0, scoreboard.MaxWhatIfChanges),
	"public":              {}, "starts_at": {}, "ends_at": {}, "from": {}, "to": {}, "from_time": {},

	"IncrementRequest.key_id": text(maxBody), // an unknown key is a wrong signature
	"IncrementRequest.board":  families,
	"IncrementRequest.boards": families,
	"ActionRequest.action_id": eventIDs,
	"ActionRequest.board":     families,
	"ActionRequest.boards":    families,
	"BoardRequest.board":      families,
	"KeyRequest.boards":       families,
	"KeyRequest.max_delta":    integers(0, scoreboard.MaxScore),
	"SettingChange.name":      text(maxBody),
	"WebhookRequest.url":      {"pattern": patternWebhookURL, "maxLength": maxWebhookURL},
	"WebhookRequest.types": enum("season.closed", "user.flagged", "rank.reached", "user.tier.updated",
		"league.moved", "reward.granted"),
	"WebhookRequest.boards": families,
	"WebhookRequest.top":    integers(0, scoreboard.TopSize),
}

// bodyItems are the numbers of items.
var bodyItems = map[string]object{
	"RewardTableRequest.bands": list(0, scoreboard.MaxRewardBands),
	"IncrementRequest.boards":  list(1, scoreboard.MaxBoards), "ActionRequest.boards": list(1, scoreboard.MaxBoards),
	"BoardRequest.tags": list(0, scoreboard.MaxTags), "BoardChange.tags": list(0, scoreboard.MaxTags),
	"BoardRequest.tiers": list(0, scoreboard.MaxTiers), "BoardChange.tiers": list(0, scoreboard.MaxTiers),
	"BoardRuleRequest.actions": list(0, scoreboard.MaxRuleValues),
	"BoardRuleRequest.regions": list(0, scoreboard.MaxRuleValues),
	"KeyRequest.boards":        list(0, maxKeyBoards),
	"WebhookRequest.types":     list(1, 5), "WebhookRequest.boards": list(1, maxWebhookBoards),
	"Users.user_ids":           list(1, maxUsers),
	"WhatIfRules.void_users":   list(0, scoreboard.MaxRuleNames),
	"WhatIfRules.void_keys":    list(0, scoreboard.MaxRuleNames),
	"FriendPairs.pairs":        list(1, maxPairs),
	"Batch.items":              list(0, wire.MaxBatch),
	"ImportRecords.records":    list(1, scoreboard.MaxImportRecords),
	"SettingsRequest.settings": list(1, wire.MaxSettings), "BoardRequest.require": {}, "BoardChange.require": {},
}

// bodyRules are the rules on fields together that a schema can express. Package api has
// more, such as that a season must end after its start.
var bodyRules = map[string]object{
	"JobRequest": {"anyOf": []object{ // which exclude each other
		{"required": []string{"board"}, "properties": object{
			"board": object{"minLength": 1}, "all": object{"const": false},
		}},
		{"required": []string{"all"}, "properties": object{
			"board": object{"maxLength": 0}, "all": object{"const": true},
		}},
	}},
	"SettingRequest": oneSetting, "SettingChange": oneSetting,
	"BoardChange": {"minProperties": 1},
	"Users":       {"properties": object{"board": object{"minLength": 1}, "user_ids": object{"uniqueItems": true}}},
}

var oneSetting = object{"oneOf": []object{
	{"required": []string{"value"}, "properties": object{"reset": object{"const": false}}},
	{"required": []string{"reset"}, "properties": object{"reset": object{"const": true}}, "not": object{
		"required": []string{"value"}, "properties": object{"value": object{}},
	}},
}}

// answerBounds are enumerations that tell the alternatives of a oneOf apart.
var answerBounds = map[string]object{
	"Receipt.status":     enum(wire.StatusDone),
	"EventStatus.status": enum(wire.StatusPending, wire.StatusRejected),
	"BatchResult.status": enum(wire.StatusDone, wire.StatusRejected),
}

// boundsOf returns what is declared for a name of an owner (a type or a route), else
// for the name alone.
func (m *maker) boundsOf(of map[string]object, owner, separator, name string) object {
	bounds, ok := of[owner+separator+name]
	if !ok {
		bounds, ok = of[name]
	}
	if !ok {
		m.T.Errorf("%s of %s has no bounds: declare them in openapi_bounds_test.go", name, owner)
	}
	return bounds
}

// restrict adds the bounds of a type of request bodies to its schema, and those of the
// types in it.
func (m *maker) restrict(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[wire.Error]().PkgPath() {
		return
	}
	schema := m.Schemas[t.Name()].(object)
	if schema["additionalProperties"] != nil {
		return // done
	}
	schema["additionalProperties"] = false
	required, _ := schema["required"].([]string)
	for name, p := range schema["properties"].(object) {
		p := p.(object)
		bounds := maps.Clone(m.boundsOf(bodyBounds, t.Name(), ".", name))
		if items, isList := p["items"].(object); isList {
			maps.Copy(items, bounds)
			bounds = bodyItems[t.Name()+"."+name]
			if bounds == nil {
				m.T.Errorf("%s of %s has no bounds for its number of items", name, t.Name())
			}
		} else if !slices.Contains(required, name) {
			orEmpty(bounds)
		} else if p["type"] == "string" && bounds["maxLength"] != nil {
			bounds["minLength"] = 1
		}
		maps.Copy(p, bounds)
	}
	for key, rule := range bodyRules[t.Name()] {
		if key != "properties" {
			schema[key] = rule
			continue
		}
		for name, more := range rule.(object) {
			maps.Copy(schema["properties"].(object)[name].(object), more.(object))
		}
	}
	for _, f := range reflect.VisibleFields(t) {
		m.restrict(f.Type)
	}
}

// orEmpty lets the bounds of a string accept "", too.
func orEmpty(bounds object) {
	if pattern, ok := bounds["pattern"].(string); ok && pattern != patternText {
		bounds["pattern"] = "^$|" + pattern
	}
	if values, ok := bounds["enum"].([]string); ok {
		bounds["enum"] = append([]string{""}, values...)
	}
	delete(bounds, "minLength")
}
