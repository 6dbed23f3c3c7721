package wire

import (
	"fmt"
	"time"
)

// League divides the players of a periodic board into divisions and cohorts.
type League struct {
	Divisions  int `json:"divisions"`             // number of divisions, 2 to 20; newcomers start in the lowest, 1
	CohortSize int `json:"cohort_size,omitempty"` // maximum number of players of a cohort, 2 to 200; 50 by default
	// Number of players that a cohort needs for anyone to move, and to which it fills before another one opens; 10 by
	// default.
	Min      int  `json:"min,omitempty"`
	Promote  *int `json:"promote,omitempty"`  // how many of a cohort move up, the first ones; 10 by default
	Relegate *int `json:"relegate,omitempty"` // how many of a cohort move down, the last ones; 5 by default
	// What happens to players without a submission in a period: stay (the default) or relegate.
	Idle string `json:"idle,omitempty"`
	// How cohorts fill: order, in the order of submissions (the default), or attribute and a name, such as
	// attribute region: players for whom servers submit different values do not meet.
	Fill string `json:"fill,omitempty"`
}

// LeaguePlace is where a player is in a period of a league.
type LeaguePlace struct {
	League    string `json:"league"` // the periodic board
	Board     string `json:"board"`  // the period
	UserID    string `json:"user_id"`
	Division  int    `json:"division"`  // 1 is the lowest
	Divisions int    `json:"divisions"` // number of divisions of the league
	// placed, waiting (something was submitted; the cohort follows once the period before has been decided) or none
	// (nothing was submitted in this period).
	State  string `json:"state"`
	Cohort int64  `json:"cohort,omitempty"` // id of the cohort; absent unless placed
	// Rank in the cohort; absent without a standing, for example while the user is on no board.
	Rank  int64  `json:"rank,omitempty"`
	Score *int64 `json:"score,omitempty"` // score on the board, in points within ±(2^53 − 1)
	// What decides among equal scores; absent on boards without subscores.
	Subscore *int64 `json:"subscore,omitempty"`
	Players  int64  `json:"players,omitempty"` // number of ranked players of the cohort
	// What the rank would lead to if the period ended now: promotion, safe or relegation.
	Zone       string    `json:"zone,omitempty"`
	Neighbours []Entry   `json:"neighbours,omitempty"` // k above, the user, k below, with their ranks in the cohort
	EndsAt     time.Time `json:"ends_at"`              // time at which the period ends
	// Seconds until then; 0 for a period that has ended.
	SecondsLeft    int64  `json:"seconds_left"`
	Degraded       bool   `json:"degraded"`
	DegradedReason string `json:"degraded_reason,omitempty"`
}

// Cohort is a page of the standings of a cohort.
type Cohort struct {
	League   string    `json:"league"`   // the periodic board
	Board    string    `json:"board"`    // the period
	Cohort   int64     `json:"cohort"`   // id of the cohort
	Division int       `json:"division"` // division of the cohort; 1 is the lowest
	Entries  []Entry   `json:"entries"`  // best first, with ranks in the cohort
	Players  int64     `json:"players"`  // number of ranked players of the cohort
	Promote  int       `json:"promote"`  // how many would move up if the period ended now
	Relegate int       `json:"relegate"` // how many would move down
	AsOf     time.Time `json:"as_of"`
	AgeMS    int64     `json:"age_ms"`
	// Value of after for the next page; absent on the last page.
	NextAfter      int64  `json:"next_after,omitempty"`
	Degraded       bool   `json:"degraded"`
	DegradedReason string `json:"degraded_reason,omitempty"`
}

// CohortFill is how full a cohort is, and who would move if the period ended now.
type CohortFill struct {
	Cohort   int64 `json:"cohort"`   // id of the cohort
	Division int   `json:"division"` // division of the cohort; 1 is the lowest
	// Value of the attribute by which cohorts fill; absent for cohorts without one.
	Attribute string `json:"attribute,omitempty"`
	Players   int64  `json:"players"`  // number of players who have a place, ranked or not
	Size      int64  `json:"size"`     // maximum number of players
	Full      bool   `json:"full"`     // true if it has been full; it then takes nobody any more
	Promote   int    `json:"promote"`  // how many would move up if all its players were ranked
	Relegate  int    `json:"relegate"` // how many would move down if all its players were ranked
}

// Cohorts is a page of the cohorts of a period of a league, by their ids.
type Cohorts struct {
	League    string       `json:"league"`    // the periodic board
	Board     string       `json:"board"`     // the period
	Divisions int          `json:"divisions"` // number of divisions of the league
	Cohorts   []CohortFill `json:"cohorts"`   // the cohorts of the page
	// Value of after for the next page; absent on the last page.
	NextAfter int64 `json:"next_after,omitempty"`
}

// LeagueOutcome is what the end of a period has decided about a player.
type LeagueOutcome struct {
	ID     int64  `json:"id"`     // number of the outcome
	League string `json:"league"` // the periodic board
	Board  string `json:"board"`  // the period
	UserID string `json:"user_id"`
	// Revision of the outcomes of the period: 1 unless they were corrected.
	Revision  int       `json:"revision"`
	Cohort    int64     `json:"cohort,omitempty"` // absent for a player without a submission
	Rank      int64     `json:"rank,omitempty"`   // final rank in the cohort; absent for a player without a submission
	Players   int64     `json:"players"`          // number of ranked players of the cohort
	From      int       `json:"from_division"`    // division of the cohort
	To        int       `json:"to_division"`      // division after the end of the period
	DecidedAt time.Time `json:"decided_at"`       // time at which it was decided
}

// LeagueHistory is a page of the outcomes of a player, newest first.
type LeagueHistory struct {
	Outcomes []LeagueOutcome `json:"outcomes"` // newest first
	// Value of before for the next page; absent on the last page.
	NextBefore int64 `json:"next_before,omitempty"`
}

// String describes the league of a board, as tools show it.
func (l *League) String() string {
	return fmt.Sprintf("%d divisions, cohorts of %d by %s, at least %d; %d up, %d down, idle %s", l.Divisions,
		l.CohortSize, l.Fill, l.Min, *l.Promote, *l.Relegate, l.Idle)
}

// LeagueRecomputeRequest is the body of POST /v1/admin/leagues/{board}/recompute.
type LeagueRecomputeRequest struct {
	Apply  bool   `json:"apply,omitempty"`  // true: move the players; otherwise nothing changes
	After  int64  `json:"after,omitempty"`  // next_after of the previous page
	Reason string `json:"reason,omitempty"` // required with apply; kept in the audit trail
}

// LeagueRecomputed is a page of the outcomes of a period that differ without the events that reversals and voids
// name.
type LeagueRecomputed struct {
	Board   string             `json:"board"`   // the period
	Applied bool               `json:"applied"` // whether the players have moved
	Players []LeagueCorrection `json:"players"` // whose outcomes differ, by cohort
	// Value of after for the next page; absent on the last page.
	NextAfter int64 `json:"next_after,omitempty"`
}

// LeagueCorrection is an outcome that differs.
type LeagueCorrection struct {
	UserID     string `json:"user_id"`
	Cohort     int64  `json:"cohort"`      // id of the cohort
	Division   int    `json:"division"`    // the division of the cohort
	RankBefore int64  `json:"rank_before"` // rank in the cohort as decided; 0 without a standing
	Rank       int64  `json:"rank"`        // rank without the events; 0 without a standing
	Players    int64  `json:"players"`     // number of ranked players of the cohort without the events
	// 1 for a player who moved up, -1 for one who moved down, 0 for one who stayed.
	MoveBefore int `json:"move_before"`
	Move       int `json:"move"` // the same without the events
}
