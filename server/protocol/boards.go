package protocol

import "time"

// BoardRequest is the body of POST /v1/boards. By default a board is public, has no
// periods, adds increments and ranks the highest score first.
type BoardRequest struct {
	Board     string     `json:"board"`
	Mode      string     `json:"mode,omitempty"`  // increment, best or latest
	Order     string     `json:"order,omitempty"` // score that ranks first: highest or lowest
	MinDelta  *int64     `json:"min_delta,omitempty"`
	MaxDelta  *int64     `json:"max_delta,omitempty"`
	MinScore  *int64     `json:"min_score,omitempty"`
	MaxScore  *int64     `json:"max_score,omitempty"`
	Public    *bool      `json:"public,omitempty"`
	Region    string     `json:"region,omitempty"`     // label to filter boards by
	Period    string     `json:"period,omitempty"`     // none, daily, weekly, monthly or season
	TimeZone  string     `json:"time_zone,omitempty"`  // IANA name; UTC by default
	WeekStart string     `json:"week_start,omitempty"` // first day of the week, such as monday, for weekly boards
	Season    string     `json:"season,omitempty"`     // name of the first season
	StartsAt  *time.Time `json:"starts_at,omitempty"`  // start of the first season; now by default
	EndsAt    *time.Time `json:"ends_at,omitempty"`

	// Require lists what increments need in addition to a signature: action-token or
	// attestation.
	Require     []string `json:"require,omitempty"`
	ActionLeast string   `json:"action_least,omitempty"` // minimum duration of an action, such as 30s
	ActionLife  string   `json:"action_life,omitempty"`  // lifetime of an action token; 1h by default
}

// BoardChange is the body of PATCH /v1/boards/{board}. Absent fields stay unchanged;
// an empty Require removes all requirements.
type BoardChange struct {
	Require     *[]string `json:"require,omitempty"`
	ActionLeast *string   `json:"action_least,omitempty"`
	ActionLife  *string   `json:"action_life,omitempty"`
}

// The values of Require.
const (
	RequireActionToken = "action-token"
	RequireAttestation = "attestation"
)

// Board is a board without periods, a family of periodic boards, or an instance of a
// family: the board of one period.
type Board struct {
	Board       string     `json:"board"`
	Family      string     `json:"family,omitempty"`  // the family of an instance
	Current     string     `json:"current,omitempty"` // the instance of a family that reads of the family return
	Mode        string     `json:"mode"`
	Order       string     `json:"order"`
	Status      string     `json:"status"`
	MinDelta    int64      `json:"min_delta"`
	MaxDelta    int64      `json:"max_delta"`
	MinScore    int64      `json:"min_score"`
	MaxScore    int64      `json:"max_score"`
	Public      bool       `json:"public"`
	Region      string     `json:"region,omitempty"`
	Period      string     `json:"period"`
	TimeZone    string     `json:"time_zone,omitempty"`
	WeekStart   string     `json:"week_start,omitempty"`
	PeriodStart *time.Time `json:"period_start,omitempty"`
	PeriodEnd   *time.Time `json:"period_end,omitempty"` // end of the period, exclusive
	CreatedAt   time.Time  `json:"created_at"`
	ClosedAt    *time.Time `json:"closed_at,omitempty"`
	Require     []string   `json:"require,omitempty"`
	ActionLeast string     `json:"action_least,omitempty"`
	ActionLife  string     `json:"action_life,omitempty"`
	// StandingsHash is the hash of the final standings of a period that has ended.
	StandingsHash string `json:"standings_hash,omitempty"`
}

// Boards is a page of boards, by name. NextAfter is the value of after for the next page.
type Boards struct {
	Boards    []Board `json:"boards"`
	NextAfter string  `json:"next_after,omitempty"`
}

// RollRequest is the body of POST /v1/boards/roll and /v1/boards/{board}/roll. With
// Season, that season starts: at StartsAt, or now, which ends the current season.
type RollRequest struct {
	DryRun   bool       `json:"dry_run,omitempty"`
	Season   string     `json:"season,omitempty"`
	StartsAt *time.Time `json:"starts_at,omitempty"`
	EndsAt   *time.Time `json:"ends_at,omitempty"`
}

// Rolled reports what a rollover did, or would do if DryRun is set.
type Rolled struct {
	Made        []string     `json:"made"`                  // instances that were created
	Interrupted string       `json:"interrupted,omitempty"` // season that ended early because another one started
	Ended       []EndedBoard `json:"ended"`
	DryRun      bool         `json:"dry_run,omitempty"`
}

// EndedBoard is the instance of a period that has ended. StandingsHash is the hash of
// its final standings, absent in a dry run.
type EndedBoard struct {
	Board         string     `json:"board"`
	PeriodEnd     time.Time  `json:"period_end"`
	ClosedAt      *time.Time `json:"closed_at,omitempty"`
	Users         int64      `json:"users"`
	StandingsHash string     `json:"standings_hash,omitempty"`
}

// FinalStandings answers GET /v1/boards/{board}/standings.
type FinalStandings struct {
	Board         string       `json:"board"`
	ClosedAt      time.Time    `json:"closed_at"`
	Users         int64        `json:"users"`
	StandingsHash string       `json:"standings_hash"`
	Entries       []FinalEntry `json:"entries"`
	NextAfter     int64        `json:"next_after,omitempty"` // value of after for the next page: a rank
}

// FinalEntry is a row of the final standings.
type FinalEntry struct {
	Rank      int64     `json:"rank"`
	UserID    string    `json:"user_id"`
	Score     int64     `json:"score"`
	ReachedAt time.Time `json:"reached_at"`
}
