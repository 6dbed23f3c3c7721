package wire

import "time"

// WhatIfRequest is the body of POST /v1/admin/what-if: rules that are assumed to have been in force
// since a time. With Apply, the events that they reject are voided, if they are still those of Digest.
type WhatIfRequest struct {
	Board string      `json:"board,omitempty"` // name of the board; global by default
	Since time.Time   `json:"since"`           // time from which on the rules are in force
	Rules WhatIfRules `json:"rules"`           // the rules, at least one
	Limit int         `json:"limit,omitempty"` // number of users to list, 1 to 1,000; 100 by default
	// True to void the rejected events, at most 100,000. It requires Digest and Reason.
	Apply  bool   `json:"apply,omitempty"`
	Digest string `json:"digest,omitempty"` // digest of the result to apply
	Reason string `json:"reason,omitempty"` // the operator's reason, for the audit trail, 1 to 500 characters
}

// WhatIfRules is a set of rules for the submissions that were recorded since then. A rule that is absent
// changes nothing.
type WhatIfRules struct {
	MinDelta *int64 `json:"min_delta,omitempty"` // smallest delta that counts
	MaxDelta *int64 `json:"max_delta,omitempty"` // largest delta that counts
	// Shortest time between two events of a user on the board that count, such as 5s; at most 744h.
	Cooldown  string         `json:"cooldown,omitempty"`
	Mode      string         `json:"mode,omitempty"`       // another mode: increment, best or latest
	Ties      string         `json:"ties,omitempty"`       // which of equal scores is ahead: first, last or shared
	VoidUsers []string       `json:"void_users,omitempty"` // up to 100 users whose events do not count
	VoidKeys  []string       `json:"void_keys,omitempty"`  // up to 100 keys whose events do not count
	Anomaly   *WhatIfAnomaly `json:"anomaly,omitempty"`    // anomalies that do not count
}

// WhatIfAnomaly is a set of thresholds, those of the settings anomaly.* with the same names. An event
// beyond one of them does not count.
type WhatIfAnomaly struct {
	SizeFactor   int64  `json:"size_factor,omitempty"`   // multiple of the user's largest recent delta, from 2
	FrequencyMax string `json:"frequency_max,omitempty"` // number of events of a user in a time span, such as 120/1m
	AmountMax    string `json:"amount_max,omitempty"`    // number of points of a user in a time span, such as 1000/1h
	TravelWindow string `json:"travel_window,omitempty"` // time within which a user cannot change country, such as 1h
}

// WhatIf is the result of a what-if, or of its application.
type WhatIf struct {
	Board string    `json:"board"`
	Since time.Time `json:"since"` // time from which on the rules are in force
	AsOf  time.Time `json:"as_of"` // time of the snapshot
	Users int64     `json:"users"` // number of users on the board now
	// Submissions since then that count now.
	Evaluated     int64            `json:"evaluated"`
	Rejected      int64            `json:"rejected"`       // of these, number of events that the rules reject
	RejectedBy    map[string]int64 `json:"rejected_by"`    // number of rejected events by rule
	RejectedUsers int64            `json:"rejected_users"` // number of users with rejected events
	Up            int64            `json:"up"`             // number of users with a better rank
	Down          int64            `json:"down"`           // number of users with a worse rank
	Left          int64            `json:"left"`           // number of users who would not be on the board
	Changed       int64            `json:"changed"`        // number of users with another rank or score
	// The users with another rank or score, those with the best ranks first.
	Changes []WhatIfChange `json:"changes"`
	Digest  string         `json:"digest"`         // SHA-256 in hex of the rejected events
	Limits  []string       `json:"limits"`         // what the result cannot know, in words
	Void    *Void          `json:"void,omitempty"` // void of the rejected events, if the result was applied
}

// WhatIfChange is a user with another rank or score.
type WhatIfChange struct {
	UserID   string `json:"user_id"`
	Rank     int64  `json:"rank"`                // current rank
	NewRank  int64  `json:"new_rank,omitempty"`  // rank under the rules; absent: not on the board
	Score    int64  `json:"score"`               // current score
	NewScore *int64 `json:"new_score,omitempty"` // score under the rules; absent: not on the board
	// What decides among equal scores now; absent on boards without subscores.
	Subscore *int64 `json:"subscore,omitempty"`
	// Subscore under the rules; absent where new_score is, and on boards without subscores.
	NewSubscore *int64 `json:"new_subscore,omitempty"`
	Rejected    int64  `json:"rejected,omitempty"` // number of rejected events
	// The first ten rejected events. None: only others' events decide.
	Events []WhatIfEvent `json:"events,omitempty"`
}

// WhatIfEvent is an event that the rules reject.
type WhatIfEvent struct {
	EventID    string    `json:"event_id"` // id of the event, as it was sent
	Delta      int64     `json:"delta"`    // points that the event submitted
	RecordedAt time.Time `json:"recorded_at"`
	Rule       string    `json:"rule"`             // such as max_delta, cooldown or anomaly.size
	Detail     string    `json:"detail,omitempty"` // what the anomaly was, in words
}
