package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Profiles keep how users want to be shown.
type Profiles interface {
	// PutProfile puts p in the place of the user's and sets when. Where another
	// has done it, why is for the trail.
	PutProfile(ctx context.Context, p *scoreboard.Profile, why *scoreboard.AuditEntry) error
}

// profile is PUT /v1/users/{user_id}/profile. What the body leaves out is
// emptied.
func (a *API) profile(c *gin.Context, who *auth.Claims) error {
	user, err := scoreboard.ParseUserID(c.Param("user_id"))
	if err != nil {
		return err
	}
	if user != who.User && !who.Has(auth.ScopeAdmin) {
		return scoreboard.Errorf(scoreboard.CodeForbidden, "a profile is its user's and the operators' to change")
	}
	if err := checkReason(c); err != nil {
		return err
	}
	body, err := readBody(c, maxBody)
	if err != nil {
		return err
	}
	in, err := protocol.DecodeProfile(body)
	if err != nil {
		return err
	}
	p := &scoreboard.Profile{User: user, DisplayName: in.DisplayName, AvatarURL: in.AvatarURL}
	if err := p.Check(); err != nil {
		return err
	}
	var why *scoreboard.AuditEntry
	if user != who.User {
		// Without the names: nobody could take them out of the trail again.
		why = entry(c, who, scoreboard.AuditUser(user), c.Query(queryReason))
	}
	if err := a.Profiles.PutProfile(c.Request.Context(), p, why); err != nil {
		return err
	}
	respond(c, http.StatusOK, protocol.Profile{
		UserID: string(p.User), DisplayName: p.DisplayName, AvatarURL: p.AvatarURL, UpdatedAt: &p.UpdatedAt,
	})
	return nil
}
