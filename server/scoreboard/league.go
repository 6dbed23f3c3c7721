package scoreboard

import "time"

// The bounds of leagues.
const (
	MinDivisions      = 2
	MaxDivisions      = 20
	MinCohortSize     = 2
	MaxCohortSize     = 200 // a cohort is read as a list of users
	DefaultCohortSize = 50
	DefaultCohortMin  = 10
	DefaultPromoted   = 10
	DefaultRelegated  = 5
)

// League divides the players of a periodic board into divisions, and those of each into cohorts, in
// which they are ranked. The fields have tags because a store keeps it in a document.
type League struct {
	Divisions  int `json:"divisions"`
	CohortSize int `json:"cohort_size"`
	// Min is how many players a cohort needs for anyone to move, and up to which it fills before
	// another one opens.
	Min      int `json:"min"`
	Promote  int `json:"promote"`  // the first of a cohort move up
	Relegate int `json:"relegate"` // the last of a cohort move down
	// IdleRelegated says that players without a submission in a period move down.
	IdleRelegated bool `json:"idle_relegated,omitempty"`
	// Attribute, of submissions by servers, keeps players with different values in different
	// cohorts; "": cohorts fill in the order of submissions.
	Attribute string `json:"attribute,omitempty"`
}

// Check validates the league of a board. It returns an invalid_request.
func (l *League) Check() error {
	for _, b := range []struct {
		name            string
		value, min, max int
	}{
		{"divisions", l.Divisions, MinDivisions, MaxDivisions},
		{"cohort_size", l.CohortSize, MinCohortSize, MaxCohortSize},
		{"min", l.Min, 1, l.CohortSize},
		{"promote", l.Promote, 0, l.CohortSize},
		{"relegate", l.Relegate, 0, l.CohortSize},
	} {
		if b.value < b.min || b.value > b.max {
			return Invalid("league", "%s of a league must be %d to %d", b.name, b.min, b.max)
		}
	}
	if l.Attribute != "" && !isBoardName(l.Attribute) {
		return Invalid("league", "fill of a league must be order, or attribute and a name that matches "+
			"[a-z0-9][a-z0-9_.-]{0,47}")
	}
	return nil
}

// FillOf returns the value that all players of the submitter's cohort have: only servers, which act
// for all users, may choose it.
func (l *League) FillOf(in *Increment) string {
	if l.Attribute == "" || !in.Server {
		return ""
	}
	return in.Attributes.Get(l.Attribute)
}

// LeagueZone is what the present rank in a cohort leads to at the end of the period.
type LeagueZone string

// The zones of a cohort.
const (
	ZonePromotion  LeagueZone = "promotion"
	ZoneSafe       LeagueZone = "safe"
	ZoneRelegation LeagueZone = "relegation"
)

// ZoneOf returns the zone of a rank among the ranked players of a cohort. Promotion is decided
// first; relegation takes only ranks below it.
func (l *League) ZoneOf(division int, rank, players int64) LeagueZone {
	switch {
	case players < int64(l.Min):
	case division < l.Divisions && rank <= int64(l.Promote):
		return ZonePromotion
	case division > 1 && rank > players-int64(l.Relegate):
		return ZoneRelegation
	}
	return ZoneSafe
}

// LeagueState is whether a player has a place in a cohort.
type LeagueState string

// The states of players in a period of a league.
const (
	LeagueNone    LeagueState = "none"    // nothing was submitted yet
	LeagueWaiting LeagueState = "waiting" // until the period before has been decided
	LeaguePlaced  LeagueState = "placed"
)

// LeagueMember is where a player is in a period of a league.
type LeagueMember struct {
	State    LeagueState
	Division int
	Cohort   int64 // 0 unless placed
}

// Cohort is a cohort of a period of a league.
type Cohort struct {
	ID       int64
	Division int
	Members  []UserID // all who have a place
}

// CohortFill is how full a cohort is.
type CohortFill struct {
	ID           int64
	Division     int
	Fill         string // the value of the attribute that all its players have; "" without one
	Places, Size int64  // taken, and how many there are
	Full         bool   // it has been full, and takes nobody any more
}

// LeagueOutcome is what the end of a period has decided about a player.
type LeagueOutcome struct {
	ID       int64
	Board    BoardID // the period
	User     UserID
	Revision int   // of the outcomes of the period
	Cohort   int64 // 0 for a player without a submission
	Rank     int64 // in the cohort; 0 for a player without a submission
	Players  int64 // ranked in the cohort
	From, To int   // divisions
	Decided  time.Time
}

// LeagueMoves are players whom the end of a period has moved, of whom webhooks were not told.
type LeagueMoves struct {
	Board    BoardID // the period
	Moves    []LeagueOutcome
	From, To int64 // outcome ids: webhooks were told up to From, and with Moves up to To
	Decided  bool  // nothing is added to the outcomes of the period
	Last     bool  // there are no others
}

// LeagueCorrection is an outcome that differs without the events that were reversed since.
type LeagueCorrection struct {
	User             UserID
	Cohort           int64
	Division         int // of the cohort
	RankBefore, Rank int64
	Players          int64
	StepBefore, Step int // 1 up, −1 down
}

// CohortList is the standings of a user's cohort, with ranks in it, as everyone sees them. Cohort is 0 for a user
// without one, who is then the only member.
type CohortList struct {
	List
	Cohort   int64
	Division int
	Members  []UserID         // with a standing or without
	Own      map[UserID]Entry // the rows of hidden members, as they see their own
}

// NoCohort returns the list of a user who has no cohort in a period at a time.
func NoCohort(period BoardID, user UserID, at time.Time) *CohortList {
	return &CohortList{List: List{Board: period, AsOf: at, Missing: []UserID{user}}, Members: []UserID{user}}
}
