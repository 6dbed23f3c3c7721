package protocol

import "time"

// BoardRequest is the body of POST /v1/boards. The defaults are an all-time board of
// increments, highest first, public, with wide bounds.
type BoardRequest struct {
	Board     string     `json:"board"`
	Mode      string     `json:"mode,omitempty"`
	Order     string     `json:"order,omitempty"`
	MinDelta  *int64     `json:"min_delta,omitempty"`
	MaxDelta  *int64     `json:"max_delta,omitempty"`
	MinScore  *int64     `json:"min_score,omitempty"`
	MaxScore  *int64     `json:"max_score,omitempty"`
	Public    *bool      `json:"public,omitempty"`
	Region    string     `json:"region,omitempty"`
	Period    string     `json:"period,omitempty"`
	TimeZone  string     `json:"time_zone,omitempty"`
	WeekStart string     `json:"week_start,omitempty"` // of a weekly board
	Season    string     `json:"season,omitempty"`     // the first season's name
	StartsAt  *time.Time `json:"starts_at,omitempty"`  // of the first season; default now
	EndsAt    *time.Time `json:"ends_at,omitempty"`

	// Require lists what increments need beside a signature: action-token,
	// attestation.
	Require     []string `json:"require,omitempty"`
	ActionLeast string   `json:"action_least,omitempty"` // a Go duration: the minimum duration of an action
	ActionLife  string   `json:"action_life,omitempty"`  // a Go duration: the lifetime of an action token; default 1h
}

// BoardChange is the body of PATCH /v1/boards/{board}. Absent fields stay unchanged;
// an empty list requires nothing.
type BoardChange struct {
	Require     *[]string `json:"require,omitempty"`
	ActionLeast *string   `json:"action_least,omitempty"`
	ActionLife  *string   `json:"action_life,omitempty"`
}

// What a board may require.
const (
	RequireActionToken = "action-token"
	RequireAttestation = "attestation"
)

// Board is a board, a family of boards, or an instance of one.
type Board struct {
	Board       string     `json:"board"`
	Family      string     `json:"family,omitempty"`  // of an instance
	Current     string     `json:"current,omitempty"` // of a family: the instance that reads of the family return
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
	PeriodEnd   *time.Time `json:"period_end,omitempty"` // exclusive
	CreatedAt   time.Time  `json:"created_at"`
	ClosedAt    *time.Time `json:"closed_at,omitempty"`
	Require     []string   `json:"require,omitempty"`
	ActionLeast string     `json:"action_least,omitempty"`
	ActionLife  string     `json:"action_life,omitempty"`
	// StandingsHash is the hash of the final standings of a period that has ended.
	StandingsHash string `json:"standings_hash,omitempty"`
}

// Boards is a page of boards by name. NextAfter is the after of the next page.
type Boards struct {
	Boards    []Board `json:"boards"`
	NextAfter string  `json:"next_after,omitempty"`
}

// RollRequest is the body of POST /v1/boards/roll and /v1/boards/{board}/roll. With a
// season, that season starts; without starts_at it starts now and ends the current
// one.
type RollRequest struct {
	DryRun   bool       `json:"dry_run,omitempty"`
	Season   string     `json:"season,omitempty"`
	StartsAt *time.Time `json:"starts_at,omitempty"`
	EndsAt   *time.Time `json:"ends_at,omitempty"`
}

// Rolled reports what a rollover did, or in a dry run would do.
type Rolled struct {
	Made        []string     `json:"made"`                  // instances that were created, or will be
	Interrupted string       `json:"interrupted,omitempty"` // the season that another one ended early
	Ended       []EndedBoard `json:"ended"`
	DryRun      bool         `json:"dry_run,omitempty"`
}

// EndedBoard is a period that has ended. StandingsHash is the hash of its final
// standings, absent in a dry run.
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
	NextAfter     int64        `json:"next_after,omitempty"` // the after of the next page: a rank
}

// FinalEntry is a row of the final standings.
type FinalEntry struct {
	Rank      int64     `json:"rank"`
	UserID    string    `json:"user_id"`
	Score     int64     `json:"score"`
	ReachedAt time.Time `json:"reached_at"`
}
