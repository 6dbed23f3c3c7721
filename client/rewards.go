package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Rewards, as the server sends them.
type (
	// Reward is what a user has won in a period of a board.
	Reward = wire.Reward
	// Rewards is a page of a user's rewards, newest first.
	Rewards = wire.Rewards
	// BoardRewards is a page of the rewards of a period, by user.
	BoardRewards = wire.BoardRewards
	// RewardTable says what the winners of a board's periods get.
	RewardTable = wire.RewardTable
	// RewardTableRequest describes such a table.
	RewardTableRequest = wire.RewardTableRequest
	// RewardBand is a line of one: exactly one of LastRank, Percentile, Tier and Division is set.
	RewardBand = wire.RewardBand
	// RewardRequest grants a reward to one user.
	RewardRequest = wire.RewardRequest
)

// RewardQuery are the parameters of a list of rewards.
type RewardQuery struct {
	User   string // "": the token's user; another one needs the scope score:update or score:operate
	State  string // claimable, claimed, revoked or expired; "" is all
	Before int64  // NextBefore of the previous page
	Limit  int    // 1 to 1000; 0 is 100
}

// rewardsPath is the path of the rewards of a user, "" for the token's.
func rewardsPath(user string) string {
	if user == "" {
		user = "me"
	}
	return "/v1/users/" + url.PathEscape(user) + "/rewards"
}

// Rewards lists the rewards of a user, newest first.
func (c *Client) Rewards(ctx context.Context, q RewardQuery) (Rewards, error) {
	query := url.Values{}
	setText(query, "state", q.State)
	setInt(query, "before", q.Before)
	setInt(query, "limit", int64(q.Limit))
	var page Rewards
	err := c.do(ctx, call{op: "list rewards", method: http.MethodGet, path: rewardsPath(q.User), query: query}, &page)
	return page, err
}

// ClaimReward claims a reward of a user, "" for the token's. A repeat returns the same. Another user's
// needs the scope score:update.
func (c *Client) ClaimReward(ctx context.Context, user string, id int64) (Reward, error) {
	var r Reward
	err := c.do(ctx, call{
		op: "claim reward " + strconv.FormatInt(id, 10), method: http.MethodPost,
		path: rewardsPath(user) + "/" + strconv.FormatInt(id, 10) + "/claim",
	}, &r)
	return r, err
}

func boardRewardsPath(board string) string { return "/v1/boards/" + url.PathEscape(board) + "/rewards" }

// RewardTable returns the table of rewards of a board, or that of a period that has ended.
func (c *Client) RewardTable(ctx context.Context, board string) (RewardTable, error) {
	var t RewardTable
	err := c.do(ctx, call{
		op: "read the rewards of board " + board, method: http.MethodGet, path: boardRewardsPath(board),
	}, &t)
	return t, err
}

// SetRewardTable replaces the table of rewards of a periodic board. It needs the scope score:admin.
func (c *Client) SetRewardTable(ctx context.Context, board string, r RewardTableRequest) (RewardTable, error) {
	var t RewardTable
	err := c.do(ctx, call{
		op: "set the rewards of board " + board, method: http.MethodPut, path: boardRewardsPath(board),
		query: because(ctx), sign: true, body: func(time.Time) any { return r },
	}, &t)
	return t, err
}

// BoardRewards lists the rewards of a period in a state ("" for all) after a user ("" for the first), at most limit
// (0: 100). With a state, a page may be empty and yet have NextAfter. It needs the scope score:operate.
func (c *Client) BoardRewards(ctx context.Context, board, state, after string, limit int) (BoardRewards, error) {
	query := url.Values{"board": {board}}
	setText(query, "state", state)
	setText(query, "after", after)
	setInt(query, "limit", int64(limit))
	var page BoardRewards
	err := c.do(ctx, call{
		op: "list the rewards of board " + board, method: http.MethodGet, path: "/v1/admin/rewards", query: query,
	}, &page)
	return page, err
}

// GrantReward grants a reward to a user, whatever the table says. It needs the scope score:operate.
func (c *Client) GrantReward(ctx context.Context, r RewardRequest) (Reward, error) {
	var made Reward
	err := c.do(ctx, call{
		op: "grant a reward to " + r.UserID, method: http.MethodPost, path: "/v1/admin/rewards", sign: true,
		body: func(time.Time) any { return r },
	}, &made)
	return made, err
}

// RevokeReward takes back a reward that is not claimed. It needs the scope score:operate.
func (c *Client) RevokeReward(ctx context.Context, id int64, reason string) (Reward, error) {
	var r Reward
	err := c.do(ctx, call{
		op: "revoke reward " + strconv.FormatInt(id, 10), method: http.MethodPost,
		path: "/v1/admin/rewards/" + strconv.FormatInt(id, 10) + "/revoke", sign: true,
		body: func(time.Time) any { return wire.ReasonRequest{Reason: reason} },
	}, &r)
	return r, err
}
