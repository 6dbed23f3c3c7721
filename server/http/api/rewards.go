package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Rewards stores which winners of periods get what.
type Rewards interface {
	// SetRewards replaces the table of a periodic board.
	SetRewards(
		ctx context.Context, table *scoreboard.RewardTable, why *scoreboard.AuditEntry,
	) (*scoreboard.RewardTable, error)
	// Rewards returns the table of a board, or of a period that has ended.
	Rewards(ctx context.Context, b *scoreboard.Board) (*scoreboard.RewardTable, error)
	// UserRewards lists grants of a user before an id, newest first.
	UserRewards(
		ctx context.Context, user scoreboard.UserID, state scoreboard.RewardState, before int64, limit int,
	) ([]scoreboard.RewardGrant, error)
	// BoardRewards lists grants of a period by user, after a user, and the user after whom the next page begins.
	BoardRewards(
		ctx context.Context, board scoreboard.BoardID, state scoreboard.RewardState, after scoreboard.UserID, limit int,
	) (grants []scoreboard.RewardGrant, next scoreboard.UserID, err error)
	// Claim claims a grant once, and returns the same for each repeat.
	Claim(ctx context.Context, user scoreboard.UserID, id int64) (scoreboard.RewardGrant, error)
	// Grant grants a reward whatever the table says; Revoke takes one back that is not claimed.
	Grant(
		ctx context.Context, g *scoreboard.RewardGrant, expires time.Duration, why *scoreboard.AuditEntry,
	) (scoreboard.RewardGrant, error)
	Revoke(
		ctx context.Context, id int64, why func(*scoreboard.RewardGrant) *scoreboard.AuditEntry,
	) (scoreboard.RewardGrant, error)
}

// The bounds of the API of rewards.
const (
	defaultRewards = 100
	maxRewards     = 1000
	maxRewardsBody = 128 << 10 // room for the longest rewards of a table
)

// rewards shows and changes tables and grants.
type rewards struct {
	store  Rewards
	boards *boards
	log    *slog.Logger
}

// showTable is GET /v1/boards/{board}/rewards.
func (h *rewards) showTable(c *gin.Context, caller *auth.Claims) error {
	b, err := h.boards.findBoard(c, caller)
	if err != nil {
		return err
	}
	table, err := h.store.Rewards(c.Request.Context(), b)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, rewardTableJSON(table))
	return nil
}

// setTable is PUT /v1/boards/{board}/rewards. Periods that end later grant by the table.
func (h *rewards) setTable(c *gin.Context, caller *auth.Claims) error {
	id, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return err
	}
	var r wire.RewardTableRequest
	var given struct{ Bands []givenReward }
	if err := decodeRewards(c, &r, &given); err != nil {
		return err
	}
	for i := range r.Bands {
		r.Bands[i].Reward = given.Bands[i].Reward
	}
	if r.Bands == nil {
		return scoreboard.Invalid("bands", "bands is missing; an empty list removes the table")
	}
	if id.IsInstance() {
		return scoreboard.Invalid("board", "a period has the rewards of its board; set those of %s instead",
			id.Family())
	}
	table := &scoreboard.RewardTable{Board: id, Private: r.Private}
	if table.Expires, err = rewardExpiry(r.Expires); err != nil {
		return err
	}
	for i := range r.Bands {
		band, err := parseRewardBand(&r.Bands[i])
		if err != nil {
			return err
		}
		table.Bands = append(table.Bands, band)
	}
	if err := table.Check(); err != nil {
		return err
	}
	why := newAuditEntry(c, caller, "board:"+string(id), c.Query(queryReason))
	// Without the rewards, which may be long; the store keeps all tables.
	why.Detail = auditDetail(map[string]any{
		"bands": len(table.Bands), "private": table.Private, "expires": table.Expires.String(),
	})
	set, err := h.store.SetRewards(c.Request.Context(), table, why)
	if err != nil {
		return err
	}
	requestLog(h.log, c).Info("rewards of a board set", "board", id, "bands", len(set.Bands))
	respond(c, http.StatusOK, rewardTableJSON(set))
	return nil
}

// givenReward is a reward as the body has it.
type givenReward struct{ Reward json.RawMessage }

// decodeRewards reads a body with rewards into v, whose numbers that mean whole ones are written plainly,
// and the rewards as they are into given.
func decodeRewards(c *gin.Context, v, given any) error {
	body, err := readBody(c, maxRewardsBody)
	if err != nil {
		return err
	}
	if err := decodeOpaque(c, body, v, "reward"); err != nil {
		return err
	}
	if err := json.Unmarshal(body, given); err != nil {
		return scoreboard.Invalid("", "the body does not match the expected JSON")
	}
	return nil
}

// rewardExpiry parses how long a reward can be claimed.
func rewardExpiry(text string) (time.Duration, error) {
	d, err := duration("expires", text, scoreboard.DefaultRewardExpiry, scoreboard.MaxRewardExpiry)
	if err == nil {
		err = scoreboard.CheckRewardExpiry(d)
	}
	return d, err
}

func parseRewardBand(in *wire.RewardBand) (b scoreboard.RewardBand, err error) {
	b = scoreboard.RewardBand{
		FirstRank: in.FirstRank, LastRank: in.LastRank, Tier: in.Tier, Division: in.Division, Reward: string(in.Reward),
	}
	if b.FirstRank == 0 && b.LastRank != 0 {
		b.FirstRank = 1
	}
	if in.Percentile != 0 {
		if b.Percent, err = scoreboard.ParsePercent(in.Percentile); err != nil {
			return b, scoreboard.Invalid("bands", "percentile must be above 0 and at most 100, with at most 3 decimals")
		}
	}
	return b, nil
}

func rewardTableJSON(t *scoreboard.RewardTable) wire.RewardTable {
	out := wire.RewardTable{
		Board: string(t.Board), Since: timePtr(t.Since), Bands: make([]wire.RewardBand, len(t.Bands)),
		Private: t.Private, Expires: t.Expires.String(),
	}
	for i := range t.Bands {
		b := &t.Bands[i]
		out.Bands[i] = wire.RewardBand{
			FirstRank: b.FirstRank, LastRank: b.LastRank, Tier: b.Tier, Division: b.Division,
			Reward:     json.RawMessage(b.Reward),
			Percentile: (&scoreboard.Tier{Percent: b.Percent}).Percentile(),
		}
	}
	return out
}

// rewardsOf returns the user in the path of rewards, for the user, servers and operators.
func rewardsOf(c *gin.Context, caller *auth.Claims) (scoreboard.UserID, error) {
	user, err := pathUser(c, caller)
	if err == nil && user != caller.User && !actsForAll(caller) {
		err = scoreboard.Errorf(wire.CodeForbidden,
			"only the user, servers and operators have access to rewards of a user")
	}
	return user, err
}

// listRewards is GET /v1/users/{user_id}/rewards.
func (h *rewards) listRewards(c *gin.Context, caller *auth.Claims) error {
	user, err := rewardsOf(c, caller)
	if err != nil {
		return err
	}
	state, err := scoreboard.ParseRewardState(c.Query("state"))
	if err != nil {
		return err
	}
	before, err := queryID(c, "before")
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", defaultRewards, 1, maxRewards)
	if err != nil {
		return err
	}
	list, err := h.store.UserRewards(c.Request.Context(), user, state, before, limit+1)
	if err != nil {
		return err
	}
	out := wire.Rewards{}
	if len(list) > limit {
		list = list[:limit]
		out.NextBefore = list[limit-1].ID
	}
	out.Rewards = rewardsJSON(list)
	respond(c, http.StatusOK, out)
	return nil
}

// claimReward is POST /v1/users/{user_id}/rewards/{id}/claim. It is idempotent: a repeat gets the same
// answer.
func (h *rewards) claimReward(c *gin.Context, caller *auth.Claims) error {
	user, err := pathUser(c, caller)
	if err != nil {
		return err
	}
	if user != caller.User && !caller.Has(auth.ScopeUpdate) {
		return scoreboard.Errorf(wire.CodeForbidden, "only the user and servers claim a reward")
	}
	id, err := pathID(c, "reward")
	if err != nil {
		return err
	}
	if err := decodeNothing(c); err != nil {
		return err
	}
	g, err := h.store.Claim(c.Request.Context(), user, id)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, rewardJSON(&g))
	return nil
}

// listBoardRewards is GET /v1/admin/rewards: what was granted for a period.
func (h *rewards) listBoardRewards(c *gin.Context, _ *auth.Claims) error {
	board, err := scoreboard.ParseBoardID(c.Query("board"))
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", defaultRewards, 1, maxRewards)
	if err != nil {
		return err
	}
	after := scoreboard.UserID(c.Query("after"))
	if after != "" {
		if after, err = scoreboard.ParseUserID(string(after)); err != nil {
			return scoreboard.Invalid("after", "after must be the next_after of a page")
		}
	}
	state, err := scoreboard.ParseRewardState(c.Query("state"))
	if err != nil {
		return err
	}
	list, next, err := h.store.BoardRewards(c.Request.Context(), board, state, after, limit)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, wire.BoardRewards{Rewards: rewardsJSON(list), NextAfter: string(next)})
	return nil
}

// grantReward is POST /v1/admin/rewards.
func (h *rewards) grantReward(c *gin.Context, caller *auth.Claims) error {
	var r wire.RewardRequest
	var given givenReward
	if err := decodeRewards(c, &r, &given); err != nil {
		return err
	}
	r.Reward = given.Reward
	user, err := scoreboard.ParseUserID(r.UserID)
	if err != nil {
		return err
	}
	board, err := scoreboard.ParseBoardID(r.Board)
	if err != nil {
		return err
	}
	if err := scoreboard.CheckReward(string(r.Reward)); err != nil {
		return err
	}
	expires, err := rewardExpiry(r.Expires)
	if err != nil {
		return err
	}
	if err := scoreboard.CheckReason(r.Reason); err != nil {
		return err
	}
	why := newAuditEntry(c, caller, scoreboard.AuditUser(user), r.Reason)
	why.Detail = rewardDetail(board, string(r.Reward))
	g, err := h.store.Grant(c.Request.Context(),
		&scoreboard.RewardGrant{Board: board, User: user, Reward: string(r.Reward)}, expires, why)
	if err != nil {
		return err
	}
	respond(c, http.StatusCreated, rewardJSON(&g))
	return nil
}

// revokeReward is POST /v1/admin/rewards/{id}/revoke.
func (h *rewards) revokeReward(c *gin.Context, caller *auth.Claims) error {
	id, err := pathID(c, "reward")
	if err != nil {
		return err
	}
	var r wire.ReasonRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if err := scoreboard.CheckReason(r.Reason); err != nil {
		return err
	}
	g, err := h.store.Revoke(c.Request.Context(), id, func(g *scoreboard.RewardGrant) *scoreboard.AuditEntry {
		why := newAuditEntry(c, caller, scoreboard.AuditUser(g.User), r.Reason)
		why.Detail = rewardDetail(g.Board, g.Reward)
		return why
	})
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, rewardJSON(&g))
	return nil
}

// rewardDetail is what an audit entry says of a grant. The reward is text there: not every JSON value
// fits into a document of PostgreSQL.
func rewardDetail(board scoreboard.BoardID, reward string) json.RawMessage {
	return auditDetail(map[string]any{"board": board, "reward": reward})
}

func rewardsJSON(list []scoreboard.RewardGrant) []wire.Reward {
	out := make([]wire.Reward, len(list))
	for i := range list {
		out[i] = rewardJSON(&list[i])
	}
	return out
}

func rewardJSON(g *scoreboard.RewardGrant) wire.Reward {
	return wire.Reward{
		ID: g.ID, UserID: string(g.User), Board: string(g.Board), Rank: g.Rank, Reward: json.RawMessage(g.Reward),
		State: string(g.State), Flagged: g.Flagged, Revision: g.Revision, GrantedAt: g.Granted, ExpiresAt: g.Expires,
		ClaimedAt: timePtr(g.Claimed), RevokedAt: timePtr(g.Revoked),
	}
}
