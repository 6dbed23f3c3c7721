package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Profiles stores users' display names and avatars.
type Profiles interface {
	// Profile returns the user's profile. The error is not_found if the user has none.
	Profile(ctx context.Context, user scoreboard.UserID) (*scoreboard.Profile, error)
	// PutProfile replaces the user's profile and sets p.UpdatedAt. why is the audit
	// entry of an operator, nil for the user.
	PutProfile(ctx context.Context, p *scoreboard.Profile, why *scoreboard.AuditEntry) error
	// Search returns at most limit users whose display name begins with a text, whatever its
	// case, by name, after the user after ("" for the first).
	Search(
		ctx context.Context, name string, after scoreboard.UserID, limit int,
	) ([]scoreboard.FoundUser, error)
}

// maxFoundUsers bounds a page of users found by name.
const maxFoundUsers = 100

// profiles shows and changes profiles.
type profiles struct {
	store Profiles
}

// findUsers is GET /v1/admin/users. Operators see users that others see under a pseudonym.
func (h *profiles) findUsers(c *gin.Context, _ *auth.Claims) error {
	limit, err := queryInt(c, "limit", maxFoundUsers, 1, maxFoundUsers)
	if err != nil {
		return err
	}
	name := scoreboard.Profile{DisplayName: c.Query("name")}
	if err := name.Normalize(); err != nil {
		return scoreboard.Invalid("name", "name must be the start of a display name")
	}
	if name.DisplayName == "" {
		return scoreboard.Invalid("name", "name is missing: specify the start of a display name")
	}
	after := scoreboard.UserID(c.Query("after"))
	if after != "" {
		if after, err = scoreboard.ParseUserID(string(after)); err != nil {
			return scoreboard.Invalid("after", "invalid after")
		}
	}
	found, err := h.store.Search(c.Request.Context(), name.DisplayName, after, limit)
	if err != nil {
		return err
	}
	out := wire.FoundUsers{Users: make([]wire.FoundUser, len(found))}
	for i, u := range found {
		out.Users[i] = wire.FoundUser{UserID: string(u.User), DisplayName: u.DisplayName, Status: u.Status}
	}
	if len(found) == limit {
		out.NextAfter = string(found[limit-1].User)
	}
	respond(c, http.StatusOK, out)
	return nil
}

// showProfile is GET /v1/users/{user_id}/profile, for the user and for operators. Others
// see names on the boards.
func (h *profiles) showProfile(c *gin.Context, caller *auth.Claims) error {
	user, err := ownOrOperated(c, caller, "a profile")
	if err != nil {
		return err
	}
	p, err := h.store.Profile(c.Request.Context(), user)
	if err != nil {
		return err
	}
	respondProfile(c, p)
	return nil
}

// ownOrOperated returns the user in the path. Only that user and operators have access; what
// names it in the error.
func ownOrOperated(c *gin.Context, caller *auth.Claims, what string) (scoreboard.UserID, error) {
	user, err := caller.UserID(c.Param("user_id"))
	if err == nil && user != caller.User && !caller.Has(auth.ScopeOperate) {
		err = scoreboard.Errorf(wire.CodeForbidden, "only the user and operators have access to %s", what)
	}
	return user, err
}

func respondProfile(c *gin.Context, p *scoreboard.Profile) {
	respond(c, http.StatusOK, wire.Profile{
		UserID: string(p.User), DisplayName: p.DisplayName, AvatarURL: p.AvatarURL, UpdatedAt: p.UpdatedAt,
	})
}

// profile is PUT /v1/users/{user_id}/profile. Absent fields are cleared.
func (h *profiles) profile(c *gin.Context, caller *auth.Claims) error {
	user, err := ownOrOperated(c, caller, "a profile")
	if err != nil {
		return err
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
	if err := p.Normalize(); err != nil {
		return err
	}
	if err := p.CheckReserved(); err != nil {
		return err
	}
	var why *scoreboard.AuditEntry
	if user != caller.User {
		// Without the names: they could not be erased from the audit trail later.
		why = newAuditEntry(c, caller, scoreboard.AuditUser(user), c.Query(queryReason))
	}
	if err := h.store.PutProfile(c.Request.Context(), p, why); err != nil {
		return err
	}
	respondProfile(c, p)
	return nil
}
