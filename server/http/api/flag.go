package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Flags reads and decides flags, which mark suspicious events.
type Flags interface {
	ListFlags(
		ctx context.Context, state string, user scoreboard.UserID, after int64, limit int,
	) ([]scoreboard.Flag, error)
	Flag(ctx context.Context, id int64) (*scoreboard.Flag, error)
	DecideFlag(ctx context.Context, id int64, state string, why *scoreboard.AuditEntry) (*scoreboard.Flag, error)
}

const defaultFlags, maxFlags = 100, 1000

// flags shows and decides flags.
type flags struct {
	store Flags
}

// listFlags is GET /v1/admin/flags, by default the open ones.
func (h *flags) listFlags(c *gin.Context, _ *auth.Claims) error {
	limit, err := queryInt(c, "limit", defaultFlags, 1, maxFlags)
	if err != nil {
		return err
	}
	after, err := queryID(c, "after")
	if err != nil {
		return err
	}
	state := cmp.Or(c.Query("state"), "open")
	switch state {
	case "all":
		state = ""
	case "open", "dismissed", "confirmed":
	default:
		return scoreboard.Invalid("state", "state must be open, dismissed, confirmed or all")
	}
	var user scoreboard.UserID
	if text := c.Query("user_id"); text != "" {
		if user, err = scoreboard.ParseUserID(text); err != nil {
			return err
		}
	}
	flags, err := h.store.ListFlags(c.Request.Context(), state, user, after, limit)
	if err != nil {
		return err
	}
	out := wire.Flags{Flags: []wire.Flag{}}
	for i := range flags {
		out.Flags = append(out.Flags, protocol.NewFlag(&flags[i]))
	}
	if len(flags) == limit {
		out.NextAfter = flags[limit-1].ID
	}
	respond(c, http.StatusOK, out)
	return nil
}

// showFlag is GET /v1/admin/flags/{id}.
func (h *flags) showFlag(c *gin.Context, _ *auth.Claims) error {
	id, err := pathID(c, "flag")
	if err != nil {
		return err
	}
	f, err := h.store.Flag(c.Request.Context(), id)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, protocol.NewFlag(f))
	return nil
}

// decideFlag is POST /v1/admin/flags/{id}/dismiss and …/confirm.
func (h *flags) decideFlag(state string) handler {
	return func(c *gin.Context, caller *auth.Claims) error {
		var r wire.ReasonRequest
		if err := decode(c, &r); err != nil {
			return err
		}
		id, err := pathID(c, "flag")
		if err != nil {
			return err
		}
		if err := scoreboard.CheckReason(r.Reason); err != nil {
			return err
		}
		why := newAuditEntry(c, caller, fmt.Sprintf("flag:%d", id), r.Reason)
		f, err := h.store.DecideFlag(c.Request.Context(), id, state, why)
		if err != nil {
			return err
		}
		respond(c, http.StatusOK, protocol.NewFlag(f))
		return nil
	}
}
