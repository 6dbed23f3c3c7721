package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// setBoard is PATCH /v1/boards/{board}: what increments must come with from now
// on. What is absent stays; repeats of what was counted get their receipts.
func (a *API) setBoard(c *gin.Context, who *auth.Claims) error {
	var r protocol.BoardChange
	if err := decode(c, &r); err != nil {
		return err
	}
	id, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return err
	}
	if id.IsInstance() {
		return scoreboard.Invalid("board", "a period is as its board is; name board %s", id.Family())
	}
	if r.Require == nil && r.ActionLeast == nil && r.ActionLife == nil {
		return scoreboard.Invalid("", "nothing is to be changed: give require, action_least or action_life")
	}
	b, err := a.Boards.FindBoard(c.Request.Context(), id)
	if err != nil {
		return err
	}
	var now protocol.Board
	addRequirements(&now, &b.Require)
	whole := protocol.BoardRequest{Require: now.Require, ActionLeast: now.ActionLeast, ActionLife: now.ActionLife}
	if r.Require != nil {
		whole.Require = *r.Require
	}
	set(&whole.ActionLeast, r.ActionLeast)
	set(&whole.ActionLife, r.ActionLife)
	var require scoreboard.Requirements
	if err := requirements(&require, &whole); err != nil {
		return err
	}
	if b, err = a.Boards.RequireOf(c.Request.Context(), id, &require, told(c, who, "board:"+string(id))); err != nil {
		return err
	}
	a.Log.Info("board changed", "board", id, "requires", whole.Require)
	respond(c, http.StatusOK, a.boardJSON(c, b))
	return nil
}
