package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// NodeStatus reports rates and counts of this node.
type NodeStatus interface {
	Status() protocol.Status
}

// status is GET /v1/admin/status. What does not answer is named among the
// problems: an operator asks most when something is away.
func (a *API) status(c *gin.Context, _ *auth.Claims) error {
	id, err := queryBoard(c)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	board, err := a.Catalog.Board(ctx, id)
	if scoreboard.CodeOf(err) == scoreboard.CodeNotFound {
		return err
	}
	problem := func(what string, err error) string {
		a.Log.Debug("status not complete", "what", what, "err", err)
		return what + " does not answer"
	}
	out := a.Operate.Node.Status()
	if s, err := a.Operate.Outbox.OutboxStatus(ctx); err != nil {
		out.Problems = append(out.Problems, problem("PostgreSQL", err))
	} else {
		depth, oldest := int64(0), int64(0)
		for _, w := range s.Shards {
			depth, oldest = depth+w.Depth, max(oldest, w.OldestAge.Milliseconds())
		}
		out.OutboxDepth, out.OutboxOldestAgeMS = &depth, &oldest
	}
	if err == nil {
		k, conditionErr := a.Operate.Conditions.Condition(ctx, board.ID)
		if conditionErr != nil {
			out.Problems = append(out.Problems, problem("Redis", conditionErr))
		} else {
			condition := a.conditionJSON(k)
			out.Board = &condition
		}
	}
	respond(c, http.StatusOK, out)
	return nil
}
