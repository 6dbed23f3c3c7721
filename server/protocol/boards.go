package protocol

import "time"

// BoardRequest is the body of POST /v1/boards. What is absent is as usual: an
// all-time board of increments, the highest first, public, with wide bounds.
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
	StartsAt  *time.Time `json:"starts_at,omitempty"`  // of the first season; now when absent
	EndsAt    *time.Time `json:"ends_at,omitempty"`

	// Require is what increments must come with beside a signature: RequireActionToken,
	// RequireAttestation.
	Require     []string `json:"require,omitempty"`
	ActionLeast string   `json:"action_least,omitempty"` // a Go duration: an action takes so long at least
	ActionLife  string   `json:"action_life,omitempty"`  // a Go duration: an action token expires; 1h when absent
}

// BoardChange is the body of PATCH /v1/boards/{board}. What is absent stays as it
// is; an empty list requires nothing.
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
	Current     string     `json:"current,omitempty"` // of a family: the instance that reads of it mean
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
	PeriodEnd   *time.Time `json:"period_end,omitempty"` // the first instant that is not in it
	CreatedAt   time.Time  `json:"created_at"`
	ClosedAt    *time.Time `json:"closed_at,omitempty"`
	Require     []string   `json:"require,omitempty"`
	ActionLeast string     `json:"action_least,omitempty"`
	ActionLife  string     `json:"action_life,omitempty"`
	// StandingsHash is of the final standings of a period that is over.
	StandingsHash string `json:"standings_hash,omitempty"`
}

// Boards is a page of boards by name. NextAfter is the after of the next page.
type Boards struct {
	Boards    []Board `json:"boards"`
	NextAfter string  `json:"next_after,omitempty"`
}

// RollRequest is the body of POST /v1/boards/roll and /v1/boards/{board}/roll.
// With a season that is begun: now where no start is said, and then the one
// that is under way ends.
type RollRequest struct {
	DryRun   bool       `json:"dry_run,omitempty"`
	Season   string     `json:"season,omitempty"`
	StartsAt *time.Time `json:"starts_at,omitempty"`
	EndsAt   *time.Time `json:"ends_at,omitempty"`
}

// Rolled says what was done, or, in a dry run, would be.
type Rolled struct {
	Made        []string     `json:"made"`                  // instances that begin, or will
	Interrupted string       `json:"interrupted,omitempty"` // the season that ends for another
	Ended       []EndedBoard `json:"ended"`
	DryRun      bool         `json:"dry_run,omitempty"`
}

// EndedBoard is a period that is over. The hash is of its final standings,
// which a dry run does not have.
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
	NextAfter     int64        `json:"next_after,omitempty"` // the rank behind which the next page begins
}

// FinalEntry is a row of them.
type FinalEntry struct {
	Rank      int64     `json:"rank"`
	UserID    string    `json:"user_id"`
	Score     int64     `json:"score"`
	ReachedAt time.Time `json:"reached_at"`
}
