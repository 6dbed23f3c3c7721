package wire

import "time"

// RankHistory is the response of GET /v1/users/{user_id}/history: a user's score and rank
// at regular times. Its other fields consider only these points.
type RankHistory struct {
	Board  string      `json:"board"`
	UserID string      `json:"user_id"`
	Points []RankPoint `json:"points"` // one for each time, oldest first, at most 1,000

	BestRank    int64      `json:"best_rank"`               // lowest rank of a point, from 1
	BestRankAt  time.Time  `json:"best_rank_at"`            // first point with this rank
	DaysInTop10 int64      `json:"days_in_top_10"`          // days in UTC with a point of rank 1 to 10
	Climb       *RankClimb `json:"biggest_climb,omitempty"` // largest improvement; absent if the rank never improved

	// Statistics of all samples; absent if no sample has the user, and with as=now.
	AllTime *AllTimeRanks `json:"all_time,omitempty"`
}

// AllTimeRanks is the rank statistics of a user on a board, computed from hourly samples of the first
// 1,000 ranks. Changes between two samples are not included.
type AllTimeRanks struct {
	BestRank    int64      `json:"best_rank"`               // lowest rank of a sample, from 1
	BestRankAt  time.Time  `json:"best_rank_at"`            // first sample with this rank
	DaysInTop10 int64      `json:"days_in_top_10"`          // days in UTC with a sample of rank 1 to 10
	Climb       *RankClimb `json:"biggest_climb,omitempty"` // absent if the rank never improved
	Since       time.Time  `json:"since"`                   // first sample of the board
	Samples     string     `json:"samples"`                 // how often ranks are sampled: hourly
}

// RankPoint is a user's score and rank at a time: with everything recorded at or before it.
type RankPoint struct {
	At    time.Time `json:"at"`    // time of the point
	Score *int64    `json:"score"` // score at this time; null if the user had none, or was hidden
	// What decided among equal scores at this time; absent where score is null, and on boards without subscores.
	Subscore *int64 `json:"subscore,omitempty"`
	Rank     *int64 `json:"rank"` // rank at this time; null if the user had no score, or was hidden
	Total    int64  `json:"total"`
}

// RankClimb is the largest improvement of a rank between two consecutive points or samples; of
// equal ones the first.
type RankClimb struct {
	Began time.Time `json:"began_at"` // time of the point or sample before the climb
	Ended time.Time `json:"ended_at"` // time of the point or sample after the climb
	Ranks int64     `json:"ranks"`    // number of ranks gained
}

// Timeline is the response of GET /v1/leaderboard/timeline: the first rows of a board at regular
// times, or a part of them. The next part begins at NextFrom.
type Timeline struct {
	Board  string          `json:"board"`
	Start  time.Time       `json:"starts_at"` // time of the first frame
	End    time.Time       `json:"ends_at"`   // last step of the timeline; send it as to for the next part
	StepMS int64           `json:"step_ms"`   // time between two steps in milliseconds, for the next part
	Frames []TimelineFrame `json:"frames"`    // the steps at which the rows changed, and the first step of the part

	// NextFrom is the time from which the next part continues; absent on the last one.
	NextFrom *time.Time `json:"next_from,omitempty"`
}

// TimelineFrame is the first rows of a board at a time, until the next frame.
type TimelineFrame struct {
	At      time.Time `json:"at"`      // time of the frame
	Total   int64     `json:"total"`   // ranked users at this time
	Entries []Entry   `json:"entries"` // the rows, best first
}

// RankExplanation is the response of GET /v1/users/{user_id}/rank/explain: why a user has this
// rank, from one snapshot of PostgreSQL.
type RankExplanation struct {
	Board  string `json:"board"`
	UserID string `json:"user_id"`
	Score  int64  `json:"score"`
	// What decides among equal scores; absent on boards without subscores.
	Subscore  *int64    `json:"subscore,omitempty"`
	Rank      int64     `json:"rank"`
	Total     int64     `json:"total"`
	ReachedAt time.Time `json:"reached_at"`
	AsOf      time.Time `json:"as_of"` // everything recorded at or before this time is included

	Above       *RankNeighbour   `json:"above,omitempty"`       // user directly ahead; absent for the first
	Below       *RankNeighbour   `json:"below,omitempty"`       // user directly behind; absent for the last
	Tie         RankTie          `json:"tie"`                   // users with the same score and subscore
	HiddenAhead int64            `json:"hidden_ahead"`          // number of banned users who would rank ahead
	Sources     ScoreSources     `json:"sources"`               // the score's changes by origin
	Events      int64            `json:"events"`                // the user's events on the board in the ledger
	Latest      []StatementEntry `json:"latest"`                // the latest events (at most 10), newest first
	NextCursor  string           `json:"next_cursor,omitempty"` // cursor of the statement of the board for older events
	// Response of a read at about the same time; absent if it has no rank.
	Ranking *RankingAnswer `json:"ranking,omitempty"`
}

// RankNeighbour is the user directly ahead or behind.
type RankNeighbour struct {
	Entry
	Difference int64     `json:"difference"` // points between the two scores, 0 or more
	ReachedAt  time.Time `json:"reached_at"`
}

// RankTie is the number of users with the same score, and the same subscore on boards that have subscores, and the
// first of them. Of equal ones, the one that was reached first ranks first.
type RankTie struct {
	Users   int64      `json:"users"`              // number of users with this score, including the user
	Ahead   int64      `json:"ahead"`              // number of these users who reached it before the user
	First   string     `json:"first,omitempty"`    // user who reached it first; absent if others may not be seen
	FirstAt *time.Time `json:"first_at,omitempty"` // time at which that user reached it; absent without first
}

// ScoreSources is the sum of a score's changes by their source, in points. Their sum is the score.
type ScoreSources struct {
	Submitted  int64 `json:"submitted"`  // points from events of clients and servers
	Adjusted   int64 `json:"adjusted"`   // points from adjustments by operators
	Reversed   int64 `json:"reversed"`   // points from reversals and voids
	Reinstated int64 `json:"reinstated"` // points from undone voids
	Imported   int64 `json:"imported"`   // points from another system
	Archived   int64 `json:"archived"`   // points from events that are in the ledger archive
}

// RankingAnswer is the response of GET /v1/users/{user_id}/rank at about the same time. It is not from
// the same snapshot: while events are recorded, the two can differ for some milliseconds.
type RankingAnswer struct {
	Score int64 `json:"score"`
	// What decides among equal scores; absent on boards without subscores.
	Subscore       *int64    `json:"subscore,omitempty"`
	Rank           int64     `json:"rank"`
	AsOf           time.Time `json:"as_of"`
	Agrees         bool      `json:"agrees"` // true if scores and rank are those of the explanation
	Degraded       bool      `json:"degraded"`
	DegradedReason string    `json:"degraded_reason,omitempty"`
}
