package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// showUser is GET /v1/admin/users/{user_id}: what the user is, since when and
// why, with the scores and the flags that wait.
func (a *API) showUser(c *gin.Context, _ *auth.Claims) error {
	user, err := scoreboard.ParseUserID(c.Param("user_id"))
	if err != nil {
		return err
	}
	u, err := a.Moderation.UserRecord(c.Request.Context(), user)
	if err != nil {
		return err
	}
	out := protocol.User{
		UserID: string(u.User), Status: u.Status, CreatedAt: u.Created, Since: present(u.Since), By: string(u.By), Reason: u.Reason,
		OpenFlags: u.OpenFlags, Scores: []protocol.UserScore{},
	}
	for _, s := range u.Scores {
		out.Scores = append(out.Scores, protocol.UserScore{
			Board: string(s.Board), Score: int64(s.Score), Version: s.Version, ReachedAt: s.ReachedAt, Hidden: s.Hidden,
		})
	}
	respond(c, http.StatusOK, out)
	return nil
}
