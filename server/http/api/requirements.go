package api

import (
	"cmp"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// setBoard is PATCH /v1/boards/{board}: its labels, tiers and appearance, the bounds and requirements of increments
// from now on, and in how many partitions it is ranked once it is rebuilt. Absent fields stay
// unchanged; repeats of recorded increments get their receipts.
func (h *boards) setBoard(c *gin.Context, caller *auth.Claims) error {
	var r wire.BoardChange
	if err := decode(c, &r); err != nil {
		return err
	}
	id, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return err
	}
	if id.IsInstance() {
		return scoreboard.Invalid("board",
			"an instance has the labels, bounds and requirements of its board; change board %s instead", id.Family())
	}
	if r == (wire.BoardChange{}) {
		return scoreboard.Invalid("", "nothing to change: specify region, platform, tags, require, action_min, "+
			"action_ttl, min_delta, max_delta, min_score, max_score, min_subscore, max_subscore, attempts, join, "+
			"max_players, late_join, metadata, tiers, partitions, title, description, color or image")
	}
	change := &scoreboard.BoardChange{Region: r.Region, Platform: r.Platform, Tags: r.Tags, Partitions: r.Partitions}
	bounds := scoreboard.BoundsChange{
		MinDelta: r.MinDelta, MaxDelta: r.MaxDelta, MinScore: r.MinScore, MaxScore: r.MaxScore, Attempts: r.Attempts,
		MinSubscore: r.MinSubscore, MaxSubscore: r.MaxSubscore,
	}
	if bounds != (scoreboard.BoundsChange{}) {
		change.Bounds = &bounds
	}
	if r.Join != nil || r.MaxPlayers != nil || r.LateJoin != nil {
		change.Join = &scoreboard.JoinChange{MaxPlayers: r.MaxPlayers, Late: r.LateJoin}
		if r.Join != nil {
			required, err := scoreboard.ParseJoin(*r.Join)
			if err != nil {
				return err
			}
			change.Join.Required = &required
		}
	}
	if r.Tiers != nil {
		tiers, err := parseTiers(*r.Tiers)
		if err != nil {
			return err
		}
		change.Tiers = &tiers
	}
	if r.Metadata != nil {
		to, err := scoreboard.ParseMetadataOf(*r.Metadata)
		if err != nil {
			return err
		}
		change.Metadata = &to
	}
	appearance := scoreboard.AppearanceChange{
		Title: r.Title, Description: r.Description, Color: r.Color, Image: r.Image,
	}
	if appearance != (scoreboard.AppearanceChange{}) {
		change.Appearance = &appearance
	}
	if err := change.Check(); err != nil {
		return err
	}
	if r.Require != nil || r.ActionMin != nil || r.ActionTTL != nil {
		if change.Require, err = h.changedRequirements(c, id, &r); err != nil {
			return err
		}
	}
	why := auditEntry(c, caller, "board:"+string(id))
	b, err := h.store.ChangeBoard(c.Request.Context(), id, change, why)
	if err != nil {
		return err
	}
	requestLog(h.log, c).Info("board changed", "board", id)
	respond(c, http.StatusOK, h.boardJSON(c, caller, b))
	return nil
}

// changedRequirements returns the requirements of a board with a change.
func (h *boards) changedRequirements(
	c *gin.Context, id scoreboard.BoardID, r *wire.BoardChange,
) (*scoreboard.Requirements, error) {
	b, err := h.store.FindBoard(c.Request.Context(), id)
	if err != nil {
		return nil, err
	}
	var now wire.Board
	addRequirements(&now, &b.Require)
	whole := wire.BoardRequest{Require: now.Require, ActionMin: now.ActionMin, ActionTTL: now.ActionTTL}
	if r.Require != nil {
		whole.Require = *r.Require
	}
	override(&whole.ActionMin, r.ActionMin)
	override(&whole.ActionTTL, r.ActionTTL)
	require := &scoreboard.Requirements{}
	return require, parseRequirements(require, &whole)
}

// parseRequirements parses the requirements of a new or changed board.
func parseRequirements(to *scoreboard.Requirements, r *wire.BoardRequest) (err error) {
	for _, what := range r.Require {
		switch what {
		case wire.RequireActionToken:
			to.ActionToken = true
		case wire.RequireAttestation:
			to.Attestation = true
		default:
			return scoreboard.Invalid("require",
				"require must list %s or %s", wire.RequireActionToken, wire.RequireAttestation)
		}
	}
	if to.ActionTTL, err = duration("action_ttl", r.ActionTTL, 0, scoreboard.MaxActionTTL); err != nil {
		return err
	}
	if r.ActionTTL != "" && to.ActionTTL < scoreboard.MinActionTTL {
		return scoreboard.Invalid("action_ttl", "action_ttl must be at least %s", scoreboard.MinActionTTL)
	}
	to.MinActionTime, err = duration("action_min", r.ActionMin, 0, actionTTL(to)-time.Millisecond)
	return err
}

func actionTTL(r *scoreboard.Requirements) time.Duration {
	return cmp.Or(r.ActionTTL, scoreboard.DefaultActionTTL)
}

// addRequirements adds requirements to the JSON of a board.
func addRequirements(out *wire.Board, r *scoreboard.Requirements) {
	if r.ActionToken {
		out.Require = append(out.Require, wire.RequireActionToken)
	}
	if r.Attestation {
		out.Require = append(out.Require, wire.RequireAttestation)
	}
	if !r.ActionToken {
		return
	}
	out.ActionTTL = actionTTL(r).String()
	if r.MinActionTime > 0 {
		out.ActionMin = r.MinActionTime.String()
	}
}
