package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// Doctor looks for what is wrong with this server.
type Doctor interface {
	Checks(ctx context.Context) protocol.Checks
}

// checks is GET /v1/admin/checks.
func (a *API) checks(c *gin.Context, _ *auth.Claims) error {
	respond(c, http.StatusOK, a.Operate.Doctor.Checks(c.Request.Context()))
	return nil
}
