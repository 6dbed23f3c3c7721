package wire

import (
	"time"
)

// TeamRule is how a board of teams computes the score of a team from the scores of its
// members.
type TeamRule struct {
	// Board of the members' scores, without periods. Absent for clients that may not see that board.
	Source    string `json:"source,omitempty"`
	Aggregate string `json:"aggregate"`      // sum, average (rounded) or best (the sum of the best members)
	Best      int    `json:"best,omitempty"` // with the aggregate best: how many members count
	// What a user brings to a team, and takes away: from_now (what the user gains while a member counts, also later)
	// or with_points (the whole score of a member counts).
	Moves string `json:"moves"`
}

// TeamMember is a time during which a user was a member of a team: the response of PUT and
// DELETE /v1/boards/{board}/teams/{team}/members/{user_id}.
type TeamMember struct {
	Board    string    `json:"board"`
	Team     string    `json:"team"` // name of the team, unique on its board
	UserID   string    `json:"user_id"`
	JoinedAt time.Time `json:"joined_at"` // time from which the user counts for the team
	// Score of the user on the source board when the user joined, 0 without one.
	JoinedScore int64      `json:"joined_score"`
	LeftAt      *time.Time `json:"left_at,omitempty"`    // end of the membership; absent for a member
	LeftScore   *int64     `json:"left_score,omitempty"` // score of the user when the user left
}

// TeamMembers is the response of GET /v1/boards/{board}/teams/{team}/members.
type TeamMembers struct {
	Members   []TeamMember `json:"members"`              // ordered by the time of joining
	NextAfter int64        `json:"next_after,omitempty"` // value of after for the next page; absent on the last page
}

// Team is a team of a board. Its standing is that of the user id.
type Team struct {
	Team      string    `json:"team"`    // name of the team, unique on its board
	UserID    string    `json:"user_id"` // user id of the team on its board: team: and its name
	Members   int       `json:"members"` // number of users in the team
	CreatedAt time.Time `json:"created_at"`
}

// Teams is the response of GET /v1/boards/{board}/teams.
type Teams struct {
	Teams     []Team `json:"teams"`                // ordered by name
	NextAfter string `json:"next_after,omitempty"` // value of after for the next page; absent on the last page
}
