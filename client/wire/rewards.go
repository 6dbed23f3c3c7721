package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// RewardBand is a line of a table of rewards: which users in the final standings of a period get what.
// Exactly one of LastRank, Percentile, Tier and Division is set.
type RewardBand struct {
	FirstRank int64 `json:"first_rank,omitempty"` // first rank of the band; with last_rank only, 1 by default
	LastRank  int64 `json:"last_rank,omitempty"`  // last rank of the band
	// Percentage of the users in the final standings that are in the band, counted from the first and rounded up to
	// whole users: above 0, at most 100, with at most 3 decimals.
	Percentile float64 `json:"percentile,omitempty"`
	Tier       string  `json:"tier,omitempty"` // tier of the board
	// Division of a league whose cohorts the users played in, from 1, the lowest.
	Division int             `json:"division,omitempty"`
	Reward   json.RawMessage `json:"reward"` // what a winner gets: any JSON value of at most 2,048 bytes
}

// RewardTableRequest is the body of PUT /v1/boards/{board}/rewards.
type RewardTableRequest struct {
	// At most 50 bands; a user gets the reward of the first that holds. An empty list removes the table.
	Bands   []RewardBand `json:"bands"`
	Private bool         `json:"private,omitempty"` // true: users who left all boards get rewards, too
	// How long after it was granted a reward can be claimed, in whole seconds from 1m to 87840h; 2160h by default.
	Expires string `json:"expires,omitempty"`
}

// RewardTable is the table of rewards of a periodic board.
type RewardTable struct {
	Board   string       `json:"board"`           // the periodic board
	Since   *time.Time   `json:"since,omitempty"` // since when it is in force; absent if there was never one
	Bands   []RewardBand `json:"bands"`           // a user gets the reward of the first that holds
	Private bool         `json:"private"`         // whether users who left all boards get rewards, too
	Expires string       `json:"expires"`         // how long after it was granted a reward can be claimed
}

// Reward is what a user has won in a period of a board.
type Reward struct {
	ID     int64  `json:"id"`      // id of the reward; give it out once for each id
	UserID string `json:"user_id"` // the winner
	Board  string `json:"board"`   // the period that it was won in
	// Rank in the final standings; absent for a reward that an operator granted.
	Rank   int64           `json:"rank,omitempty"`
	Reward json.RawMessage `json:"reward"` // what the table of the board says, as it was given
	State  string          `json:"state"`  // claimable, claimed, revoked or expired
	// True for a claimed reward, if a void has since reversed events of the user that counted in the period.
	Flagged bool `json:"flagged,omitempty"`
	// Revision of the final standings that it follows from; absent for a reward that an operator granted.
	Revision  int        `json:"revision,omitempty"`
	GrantedAt time.Time  `json:"granted_at"`           // time at which it was granted
	ExpiresAt time.Time  `json:"expires_at"`           // time at which it can no longer be claimed
	ClaimedAt *time.Time `json:"claimed_at,omitempty"` // time at which it was claimed; absent if it is not
	RevokedAt *time.Time `json:"revoked_at,omitempty"` // time at which it was revoked; absent if it is not
}

// Rewards is a page of the rewards of a user, newest first.
type Rewards struct {
	Rewards []Reward `json:"rewards"` // newest first
	// Value of before for the next page; absent on the last page.
	NextBefore int64 `json:"next_before,omitempty"`
}

// BoardRewards is a page of the rewards of a period, by user id.
type BoardRewards struct {
	Rewards   []Reward `json:"rewards"`              // ordered by user id
	NextAfter string   `json:"next_after,omitempty"` // value of after for the next page; absent on the last page
}

// RewardRequest is the body of POST /v1/admin/rewards.
type RewardRequest struct {
	UserID  string          `json:"user_id"`
	Board   string          `json:"board"`             // a period that has ended, such as weekly:2026-w47
	Reward  json.RawMessage `json:"reward"`            // what the user gets: any JSON value of at most 2,048 bytes
	Expires string          `json:"expires,omitempty"` // as in a table of rewards
	Reason  string          `json:"reason"`
}

// String is the bound of a band as tools write it: rank:1-3, percentile:10, tier:gold or division:5.
func (b RewardBand) String() string {
	switch {
	case b.Tier != "":
		return "tier:" + b.Tier
	case b.Division != 0:
		return "division:" + strconv.Itoa(b.Division)
	case b.Percentile != 0:
		return "percentile:" + strconv.FormatFloat(b.Percentile, 'f', -1, 64)
	}
	text := "rank:" + strconv.FormatInt(max(b.FirstRank, 1), 10)
	if b.LastRank != b.FirstRank {
		text += "-" + strconv.FormatInt(b.LastRank, 10)
	}
	return text
}

// ParseRewardBand parses a band and its reward: rank:1-3=JSON, rank:1=JSON, percentile:10=JSON,
// tier:gold=JSON or division:5=JSON.
func ParseRewardBand(text string) (b RewardBand, err error) {
	bound, reward, _ := strings.Cut(text, "=")
	kind, value, _ := strings.Cut(bound, ":")
	switch kind {
	case "rank":
		first, last, several := strings.Cut(value, "-")
		if b.FirstRank, err = strconv.ParseInt(first, 10, 64); err == nil {
			b.LastRank = b.FirstRank
			if several {
				b.LastRank, err = strconv.ParseInt(last, 10, 64)
			}
		}
	case "percentile":
		b.Percentile, err = strconv.ParseFloat(value, 64)
	case "tier":
		b.Tier = value
	case "division":
		if b.Division, err = strconv.Atoi(value); b.Division == 0 {
			err = strconv.ErrSyntax
		}
	default:
		err = strconv.ErrSyntax
	}
	if b.Reward = json.RawMessage(reward); err != nil || value == "" || !json.Valid(b.Reward) {
		return RewardBand{}, fmt.Errorf("invalid band %q: want rank:1-3=JSON, rank:1=JSON, percentile:10=JSON, "+
			"tier:NAME=JSON or division:5=JSON", text)
	}
	return b, nil
}
