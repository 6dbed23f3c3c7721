package api

import (
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// boardRules shows and changes on which boards increments count that name none.
type boardRules struct {
	store  Boards
	boards *boards
	log    *slog.Logger
}

// listRules is GET /v1/admin/board-rules: every board that has a rule.
func (h *boardRules) listRules(c *gin.Context, _ *auth.Claims) error {
	rules, err := h.store.Rules(c.Request.Context())
	if err != nil {
		return err
	}
	out := wire.BoardRules{Rules: make([]wire.BoardRule, len(rules))}
	for i := range rules {
		out.Rules[i] = ruleJSON(&rules[i])
	}
	respond(c, http.StatusOK, out)
	return nil
}

// setRule is PUT /v1/admin/board-rules/{board}. Increments that come later follow the rule,
// on all nodes.
func (h *boardRules) setRule(c *gin.Context, caller *auth.Claims) error {
	var r wire.BoardRuleRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	id, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return err
	}
	rule := &scoreboard.BoardRule{Actions: r.Actions, Regions: r.Regions, Attributes: r.Attributes}
	if err := rule.Check(); err != nil {
		return err
	}
	set, err := h.store.SetRule(c.Request.Context(), id, rule, auditEntry(c, caller, "board:"+string(id)))
	if err != nil {
		return err
	}
	requestLog(h.log, c).Info("rule of a board set", "board", id)
	respond(c, http.StatusOK, ruleJSON(&set))
	return nil
}

// clearRule is DELETE /v1/admin/board-rules/{board}. It is idempotent.
func (h *boardRules) clearRule(c *gin.Context, caller *auth.Claims) error {
	id, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return err
	}
	b, err := h.store.ClearRule(c.Request.Context(), id, auditEntry(c, caller, "board:"+string(id)))
	if err != nil {
		return err
	}
	requestLog(h.log, c).Info("rule of a board cleared", "board", id)
	respond(c, http.StatusOK, h.boards.boardJSON(c, caller, b))
	return nil
}

func ruleJSON(r *scoreboard.RuledBoard) wire.BoardRule {
	return wire.BoardRule{
		Board: string(r.Board), Status: string(r.Status),
		Actions: r.Rule.Actions, Regions: r.Rule.Regions, Attributes: r.Rule.Attributes,
	}
}
