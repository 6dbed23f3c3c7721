package api

import (
	"cmp"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// setBoard is PATCH /v1/boards/{board}: the requirements of increments from now on, and in how
// many partitions the board is ranked once it is rebuilt.
// Absent fields stay unchanged; repeats of recorded increments get their receipts.
func (a *API) setBoard(c *gin.Context, caller *auth.Claims) error {
	var r protocol.BoardChange
	if err := decode(c, &r); err != nil {
		return err
	}
	id, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return err
	}
	if id.IsInstance() {
		return scoreboard.Invalid("board",
			"an instance has the rules of its board; change board %s instead", id.Family())
	}
	if r == (protocol.BoardChange{}) {
		return scoreboard.Invalid("", "nothing to change: specify require, action_least, action_life or partitions")
	}
	partitions := 0
	if r.Partitions != nil {
		partitions = *r.Partitions
		if err := scoreboard.CheckPartitions(partitions); err != nil {
			return err
		}
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
	override(&whole.ActionLeast, r.ActionLeast)
	override(&whole.ActionLife, r.ActionLife)
	var require scoreboard.Requirements
	if err := parseRequirements(&require, &whole); err != nil {
		return err
	}
	why := auditEntry(c, caller, "board:"+string(id))
	if b, err = a.Boards.SetRules(c.Request.Context(), id, &require, partitions, why); err != nil {
		return err
	}
	a.Log.Info("board changed", logTrace, traceID(c), "board", id, "requires", whole.Require,
		"partitions", b.Partitions)
	respond(c, http.StatusOK, a.boardJSON(c, b))
	return nil
}

// parseRequirements parses the requirements of a new or changed board.
func parseRequirements(to *scoreboard.Requirements, r *protocol.BoardRequest) (err error) {
	for _, what := range r.Require {
		switch what {
		case protocol.RequireActionToken:
			to.ActionToken = true
		case protocol.RequireAttestation:
			to.Attestation = true
		default:
			return scoreboard.Invalid("require",
				"require must list %s or %s", protocol.RequireActionToken, protocol.RequireAttestation)
		}
	}
	if to.ActionLife, err = duration("action_life", r.ActionLife, 0, scoreboard.MaxActionLife); err != nil {
		return err
	}
	if r.ActionLife != "" && to.ActionLife < scoreboard.MinActionLife {
		return scoreboard.Invalid("action_life", "action_life must be at least %s", scoreboard.MinActionLife)
	}
	to.MinActionTime, err = duration("action_least", r.ActionLeast, 0, actionLife(to)-time.Millisecond)
	return err
}

func actionLife(r *scoreboard.Requirements) time.Duration {
	return cmp.Or(r.ActionLife, scoreboard.DefaultActionLife)
}

// addRequirements adds requirements to the JSON of a board.
func addRequirements(out *protocol.Board, r *scoreboard.Requirements) {
	if r.ActionToken {
		out.Require = append(out.Require, protocol.RequireActionToken)
	}
	if r.Attestation {
		out.Require = append(out.Require, protocol.RequireAttestation)
	}
	if !r.ActionToken {
		return
	}
	out.ActionLife = actionLife(r).String()
	if r.MinActionTime > 0 {
		out.ActionLeast = r.MinActionTime.String()
	}
}
