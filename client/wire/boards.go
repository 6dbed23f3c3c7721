package wire

import "time"

// BoardRequest is the body of POST /v1/boards. By default a board is public, has no
// periods, adds increments and ranks the highest score first.
type BoardRequest struct {
	// Name of the new board: 1 to 48 of the characters a-z 0-9 _ . and -, the first a letter or digit.
	Board string `json:"board"`
	// How increments count: increment (adds deltas; the default), best (keeps the better score) or latest (keeps the
	// last one).
	Mode  string `json:"mode,omitempty"`
	Order string `json:"order,omitempty"` // score that ranks first: highest or lowest
	// Minimum delta of an increment, in points; 1 by default if the board adds them.
	MinDelta *int64 `json:"min_delta,omitempty"`
	MaxDelta *int64 `json:"max_delta,omitempty"`
	MinScore *int64 `json:"min_score,omitempty"`
	MaxScore *int64 `json:"max_score,omitempty"`
	// Whether submissions have a second score, which decides among equal scores, and which of them ranks first: none
	// (the default), highest or lowest. It cannot be changed.
	Subscore string `json:"subscore,omitempty"`
	// Minimum subscore of an increment; -(2^53 − 1) by default.
	MinSubscore *int64 `json:"min_subscore,omitempty"`
	// Maximum subscore of an increment; 2^53 − 1 by default.
	MaxSubscore *int64 `json:"max_subscore,omitempty"`
	Public      *bool  `json:"public,omitempty"` // whether users see the board without a scope; true by default
	Region      string `json:"region,omitempty"` // label to filter boards by, named as a board
	// Label to filter boards by, such as pc, named as a board.
	Platform string   `json:"platform,omitempty"`
	Tags     []string `json:"tags,omitempty"`   // up to 10 labels to filter boards by, named as boards
	Period   string   `json:"period,omitempty"` // none, daily, weekly, monthly, season or cron
	// IANA name of the time zone, such as Europe/Berlin; UTC by default.
	TimeZone  string `json:"time_zone,omitempty"`
	WeekStart string `json:"week_start,omitempty"` // first day of the week, such as monday, for weekly boards
	// When periods begin in the time zone, as five fields of cron: minute, hour, day of the month, month and day of
	// the week, such as 0 18 * * fri. With the period cron only; a period lasts a day to a year.
	Schedule string     `json:"schedule,omitempty"`
	Season   string     `json:"season,omitempty"`    // name of the first season
	StartsAt *time.Time `json:"starts_at,omitempty"` // start of the first season; now by default
	EndsAt   *time.Time `json:"ends_at,omitempty"`

	// Require lists what increments need in addition to a signature: action-token or
	// attestation.
	Require   []string `json:"require,omitempty"`
	ActionMin string   `json:"action_min,omitempty"` // minimum duration of an action, such as 30s
	ActionTTL string   `json:"action_ttl,omitempty"` // lifetime of an action token; 1h by default

	// How the scores of teams are computed; absent for a board of users.
	Team *TeamRule `json:"team,omitempty"`

	// Named bands of the standings, at most 20, the best first; none by default.
	Tiers []Tier `json:"tiers,omitempty"`

	// Divisions and cohorts of the players of a periodic board; absent for a board without them. It cannot be changed.
	League *League `json:"league,omitempty"`

	// Number of Redis keys over which the ranking is spread by user, for a board that is
	// larger than one server; 1 by default.
	Partitions *int `json:"partitions,omitempty"`
	// Maximum number of events of a user that are recorded in a period, whether they improve the score or
	// not; without a period, for all time. 0, the default: no limit.
	Attempts *int64 `json:"attempts,omitempty"`
	// To whom the metadata of standings is shown: none (it is not kept; the default), self (to the user) or public.
	Metadata string `json:"metadata,omitempty"`
	// How equal scores rank: unique (the one that was reached first is ahead; the default) or shared (they have the
	// same rank: 1 + the number of users with a better score).
	Ties string `json:"ties,omitempty"`
	// Who may submit to a period: open (everybody; the default) or required (only users who have joined it). With the
	// periods season and cron only.
	Join string `json:"join,omitempty"`
	// maximum number of users who join a period; 0, the default: no limit
	MaxPlayers int64 `json:"max_players,omitempty"`
	LateJoin   bool  `json:"late_join,omitempty"` // whether users may join a period that has begun

	// How pages show the board. The title is shown instead of the name: one line of up to 80 characters.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"` // plain text below the title: one line of up to 500 characters
	Color       string `json:"color,omitempty"`       // colour of links and marks, as #rrggbb
	Image       string `json:"image,omitempty"`       // https URL of a square picture, up to 512 bytes

	DryRun bool `json:"dry_run,omitempty"`
}

// BoardChange is the body of PATCH /v1/boards/{board}. Absent fields stay unchanged;
// an empty Require removes all requirements, and empty labels remove those.
type BoardChange struct {
	Region   *string   `json:"region,omitempty"`   // label to filter boards by; none if empty
	Platform *string   `json:"platform,omitempty"` // label to filter boards by; none if empty
	Tags     *[]string `json:"tags,omitempty"`     // labels to filter boards by; they replace the current ones
	// What increments need in addition to a signature: action-token, attestation, both or nothing.
	Require   *[]string `json:"require,omitempty"`
	ActionMin *string   `json:"action_min,omitempty"`
	ActionTTL *string   `json:"action_ttl,omitempty"`
	// Named bands of the standings, at most 20, the best first; they replace the current ones, and an empty list
	// removes those.
	Tiers *[]Tier `json:"tiers,omitempty"`
	// Number of Redis keys over which the ranking is spread by user; the ranking is rebuilt
	// while it stays online.
	Partitions *int `json:"partitions,omitempty"`
	// Bounds of increments from now on, wider or narrower, within ±(2^53 − 1). Scores that are outside stay.
	MinDelta *int64 `json:"min_delta,omitempty"`
	MaxDelta *int64 `json:"max_delta,omitempty"`
	MinScore *int64 `json:"min_score,omitempty"`
	MaxScore *int64 `json:"max_score,omitempty"`
	// Minimum subscore of an increment from now on, on boards that have subscores.
	MinSubscore *int64 `json:"min_subscore,omitempty"`
	// Maximum subscore of an increment from now on, on boards that have subscores.
	MaxSubscore *int64 `json:"max_subscore,omitempty"`
	// Maximum number of events of a user that are recorded in a period, from now on; 0: no limit. Events of
	// the current period count.
	Attempts *int64 `json:"attempts,omitempty"`
	// To whom the metadata of standings is shown: none (it is not kept), self (to the user) or public.
	Metadata *string `json:"metadata,omitempty"`
	// Who may submit to the periods that begin later: open (everybody) or required (only users who have joined them).
	Join       *string `json:"join,omitempty"`
	MaxPlayers *int64  `json:"max_players,omitempty"` // maximum number of users who join a period; 0: no limit
	LateJoin   *bool   `json:"late_join,omitempty"`   // whether users may join a period that has begun
	// How pages show the board and all its periods; empty texts remove theirs.
	Title       *string `json:"title,omitempty"`       // title in place of the name: one line of up to 80 characters
	Description *string `json:"description,omitempty"` // plain text below the title, up to 500 characters
	Color       *string `json:"color,omitempty"`       // colour of links and marks, as #rrggbb
	Image       *string `json:"image,omitempty"`       // https URL of a square picture, up to 512 bytes
}

// The values of Require.
const (
	RequireActionToken = "action-token"
	RequireAttestation = "attestation"
)

// Board is a board without periods, a family of periodic boards, or an instance of a
// family: the board of one period.
type Board struct {
	Board   string `json:"board"`
	Family  string `json:"family,omitempty"`  // the family of an instance
	Current string `json:"current,omitempty"` // the instance of a family that reads of the family return
	// How increments count: increment (adds deltas), best (keeps the better score) or latest (keeps the last one).
	Mode  string `json:"mode"`
	Order string `json:"order"` // score that ranks first: highest or lowest
	// The board's status: active, frozen (rejects writes) or archived (read-only, served from PostgreSQL).
	Status   string `json:"status"`
	MinDelta int64  `json:"min_delta"`
	MaxDelta int64  `json:"max_delta"`
	MinScore int64  `json:"min_score"`
	MaxScore int64  `json:"max_score"`
	// Which subscore ranks first among equal scores: highest or lowest; absent if submissions have none.
	Subscore string `json:"subscore,omitempty"`
	// Minimum subscore of an increment; absent on boards without subscores.
	MinSubscore *int64 `json:"min_subscore,omitempty"`
	// Maximum subscore of an increment; absent on boards without subscores.
	MaxSubscore *int64 `json:"max_subscore,omitempty"`
	// Maximum number of events of a user that are recorded in a period; absent if there is no limit.
	Attempts int64 `json:"attempts,omitempty"`
	// To whom the metadata of standings is shown: self (to the user) or public; absent if the board keeps none.
	Metadata string `json:"metadata,omitempty"`
	// How equal scores rank: shared (they have the same rank); absent if the one that was reached first is ahead.
	Ties string `json:"ties,omitempty"`
	// Who may submit: required (only users who have joined the period); absent if everybody may.
	Join string `json:"join,omitempty"`
	// maximum number of users who join a period; absent without a limit
	MaxPlayers int64 `json:"max_players,omitempty"`
	LateJoin   bool  `json:"late_join,omitempty"` // true if users may join a period that has begun
	// How often the bounds and the attempts were set: 1 since the board was created, one more with each change.
	BoundsVersion int64    `json:"bounds_version"`
	Public        bool     `json:"public"`               // whether users see the board without a scope
	Region        string   `json:"region,omitempty"`     // label to filter boards by, named as a board
	Platform      string   `json:"platform,omitempty"`   // label to filter boards by, such as pc
	Tags          []string `json:"tags,omitempty"`       // labels to filter boards by, in order
	Period        string   `json:"period"`               // none, daily, weekly, monthly, season or cron
	TimeZone      string   `json:"time_zone,omitempty"`  // IANA name of the time zone in which periods begin and end
	WeekStart     string   `json:"week_start,omitempty"` // first day of the week of a weekly board, such as monday
	// When periods begin in the time zone, as five fields of cron; with the period cron only.
	Schedule    string     `json:"schedule,omitempty"`
	PeriodStart *time.Time `json:"period_start,omitempty"`
	PeriodEnd   *time.Time `json:"period_end,omitempty"` // end of the period, exclusive
	// When the period ends: that of an instance, or the current one of a family.
	EndsAt *time.Time `json:"ends_at,omitempty"`
	// When the next period begins; absent without periods, for a period that is over, and if no next season is
	// planned.
	NextReset *time.Time `json:"next_reset,omitempty"`
	// When the next ten periods begin; in answers of a dry run only.
	NextResets []time.Time `json:"next_resets,omitempty"`
	CreatedAt  time.Time   `json:"created_at"`
	// Time at which the final standings were stored; absent for a period that has not ended.
	ClosedAt *time.Time `json:"closed_at,omitempty"`
	// What increments need in addition to a signature: action-token, attestation or both.
	Require   []string `json:"require,omitempty"`
	ActionMin string   `json:"action_min,omitempty"`
	ActionTTL string   `json:"action_ttl,omitempty"`
	// StandingsHash is the hash of the final standings of a period that has ended.
	StandingsHash string `json:"standings_hash,omitempty"`
	// How the scores of teams are computed; absent for a board of users.
	Team *TeamRule `json:"team,omitempty"`
	// Named bands of the standings, the best first; absent without any.
	Tiers []Tier `json:"tiers,omitempty"`
	// Divisions and cohorts of the players of a periodic board; absent for a board without them.
	League     *League `json:"league,omitempty"`
	Partitions int     `json:"partitions"` // number of Redis keys over which the ranking is spread by user

	Title       string `json:"title,omitempty"`       // title in place of the name, on pages
	Description string `json:"description,omitempty"` // plain text that pages show below the title
	// Colour of links and marks of pages, as #rrggbb. Pages change its lightness where it would be hard to read.
	Color string `json:"color,omitempty"`
	Image string `json:"image,omitempty"` // https URL of a square picture
}

// BoardRuleRequest is the body of PUT /v1/admin/board-rules/{board}. An increment that names
// no board also counts on the board if all parts that are given match; without parts, every
// such increment does.
type BoardRuleRequest struct {
	Actions []string `json:"actions,omitempty"` // accepted actions of the increment, up to 20
	// Accepted values of the increment's attribute region, up to 20.
	Regions []string `json:"regions,omitempty"`
	// Accepted values of other attributes by name, all of which must match: up to 8 names with up to 20 values each.
	Attributes map[string][]string `json:"attributes,omitempty"`
}

// BoardRule is the rule of a board. It is in force while the board is active.
type BoardRule struct {
	Board string `json:"board"`
	// Status of the board; the rule is in force while it is active.
	Status     string              `json:"status"`
	Actions    []string            `json:"actions,omitempty"`    // accepted actions of the increment
	Regions    []string            `json:"regions,omitempty"`    // accepted values of the attribute region
	Attributes map[string][]string `json:"attributes,omitempty"` // accepted values of other attributes, by name
}

// BoardRules is the response of GET /v1/admin/board-rules.
type BoardRules struct {
	Rules []BoardRule `json:"rules"` // the rules, ordered by board
}

// Boards is a page of boards, by name. NextAfter is the value of after for the next page.
type Boards struct {
	Boards    []Board `json:"boards"`               // the boards of the page, by name
	NextAfter string  `json:"next_after,omitempty"` // name after which the next page begins; absent on the last page
}

// RollRequest is the body of POST /v1/boards/roll and /v1/boards/{board}/roll. With
// Season, that season starts: at StartsAt, or now, which ends the current season.
type RollRequest struct {
	DryRun bool `json:"dry_run,omitempty"`
	// Name of the season to start: 1 to 48 of the characters a-z 0-9 _ . and -.
	Season   string     `json:"season,omitempty"`
	StartsAt *time.Time `json:"starts_at,omitempty"`
	EndsAt   *time.Time `json:"ends_at,omitempty"`
}

// Rolled is the result of a rollover or, if DryRun is set, what it would do.
type Rolled struct {
	Created     []string     `json:"created"`               // instances that were created
	Interrupted string       `json:"interrupted,omitempty"` // season that ended early because another one started
	Ended       []EndedBoard `json:"ended"`                 // boards of periods that have ended
	DryRun      bool         `json:"dry_run,omitempty"`
}

// EndedBoard is the instance of a period that has ended. StandingsHash is the hash of
// its final standings, absent in a dry run.
type EndedBoard struct {
	Board         string     `json:"board"`
	PeriodEnd     time.Time  `json:"period_end"`
	ClosedAt      *time.Time `json:"closed_at,omitempty"`
	Users         int64      `json:"users"` // number of users in the final standings
	StandingsHash string     `json:"standings_hash,omitempty"`
}

// FinalStandings is the response of GET /v1/boards/{board}/standings.
type FinalStandings struct {
	Board            string       `json:"board"`
	ClosedAt         time.Time    `json:"closed_at"`
	Users            int64        `json:"users"` // number of users in the final standings
	StandingsHash    string       `json:"standings_hash"`
	StandingsVersion int          `json:"standings_version"`    // format of the hash: 2, or 3 on boards with subscores
	Entries          []FinalEntry `json:"entries"`              // the rows of the page, best first
	NextAfter        int64        `json:"next_after,omitempty"` // value of after for the next page
}

// FinalEntry is a row of the final standings. Without Salt, whoever has Leaf cannot find out by
// trying ids whose row it is.
type FinalEntry struct {
	Rank   int64  `json:"rank"` // final rank, from 1
	UserID string `json:"user_id"`
	Score  int64  `json:"score"` // final score, in points
	// What decided among equal scores; absent on boards without subscores.
	Subscore  *int64    `json:"subscore,omitempty"`
	ReachedAt time.Time `json:"reached_at"`
	// Metadata of the submission that made the score, in exports of boards that keep it.
	Metadata Object `json:"metadata,omitempty"`
	// SHA-256 in hex over rank, user_id, score, in format 3 subscore, reached_at in microseconds of Unix time and salt.
	Leaf string `json:"leaf,omitempty"`
	// Random, in hex; absent if the caller may not see the user's id, and after an erasure.
	Salt string `json:"salt,omitempty"`
}
