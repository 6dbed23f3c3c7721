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
}

// Boards is a page of boards by name. NextAfter is the after of the next page.
type Boards struct {
	Boards    []Board `json:"boards"`
	NextAfter string  `json:"next_after,omitempty"`
}
