package api

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Players stores who has joined the periods of boards that require it. A name is that of a period, or of a board,
// which means the next period that allows what is asked for.
type Players interface {
	// Join and Leave are idempotent. They return why nobody can, or the user cannot.
	Join(
		ctx context.Context, name scoreboard.BoardID, user scoreboard.UserID, why *scoreboard.AuditEntry,
	) (scoreboard.Participation, error)
	Leave(
		ctx context.Context, name scoreboard.BoardID, user scoreboard.UserID, why *scoreboard.AuditEntry,
	) (scoreboard.Participation, error)
	// Participation says how many have joined, and whether a user has, unless that is "".
	Participation(
		ctx context.Context, name scoreboard.BoardID, user scoreboard.UserID,
	) (scoreboard.Participation, error)
	// List lists the players of a period by user, after a user.
	List(
		ctx context.Context, board scoreboard.BoardID, after scoreboard.UserID, limit int,
	) ([]scoreboard.Player, error)
	// Add and Remove change a period whether it has begun or not. Remove returns a not_found for a user who has not
	// joined.
	Add(
		ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID, why *scoreboard.AuditEntry,
	) (scoreboard.Participation, error)
	Remove(
		ctx context.Context, board scoreboard.BoardID, user scoreboard.UserID, why *scoreboard.AuditEntry,
	) (scoreboard.Participation, error)
}

// The bounds of a page of players.
const defaultPlayers, maxPlayersPage = 100, 1000

// tournaments shows and changes who has joined periods.
type tournaments struct {
	store  Players
	boards *boards
	log    *slog.Logger
}

// change is POST and DELETE /v1/boards/{board}/join: a user joins or leaves a period. parse parses the user in the
// query. Operators who act for another user leave an audit entry, as on the other routes of servers.
func (h *tournaments) change(
	do playerChange, parse func(*auth.Claims, string) (scoreboard.UserID, error),
) handler {
	return func(c *gin.Context, caller *auth.Claims) error {
		if err := decodeNothing(c); err != nil {
			return err
		}
		user := caller.User
		if text := c.Query("user_id"); text != "" {
			named, err := parse(caller, text)
			if err != nil {
				return err
			}
			if named != user && !caller.Has(auth.ScopeUpdate) {
				return scoreboard.Errorf(wire.CodeForbidden, "the token is not for user %s", named)
			}
			user = named
		}
		b, err := h.boards.findBoard(c, caller)
		if err != nil {
			return err
		}
		var why *scoreboard.AuditEntry
		if user != caller.User {
			why = operatorsEntry(c, caller, scoreboard.AuditUser(user), map[string]any{"board": b.ID})
		}
		p, err := do(c.Request.Context(), b.ID, user, why)
		if err != nil {
			return err
		}
		respond(c, http.StatusOK, participationJSON(&p))
		return nil
	}
}

// participation is GET /v1/boards/{board}/join. Who has joined is shown to the user, to servers and to operators.
func (h *tournaments) participation(c *gin.Context, caller *auth.Claims) error {
	user := caller.User
	if text := c.Query("user_id"); text != "" {
		named, err := caller.UserID(text)
		if err != nil {
			return err
		}
		if named != user && !actsForAll(caller) {
			return scoreboard.Errorf(wire.CodeForbidden, "the token is not for user %s", named)
		}
		user = named
	}
	b, err := h.boards.findBoard(c, caller)
	if err != nil {
		return err
	}
	p, err := h.store.Participation(c.Request.Context(), b.ID, user)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, participationJSON(&p))
	return nil
}

func participationJSON(p *scoreboard.Participation) wire.Participation {
	return wire.Participation{
		Board: string(p.Board.ID), StartsAt: p.Board.PeriodStart, EndsAt: p.Board.PeriodEnd,
		Players: p.Players, MaxPlayers: p.Board.Join.MaxPlayers,
		UserID: string(p.User), Joined: !p.Joined.IsZero(), JoinedAt: timePtr(p.Joined),
	}
}

// periodOfPath returns the period in the path.
func periodOfPath(c *gin.Context) (scoreboard.BoardID, error) {
	id, err := scoreboard.ParseBoardID(c.Param("board"))
	if err == nil && !id.IsInstance() {
		err = scoreboard.Invalid("board", "the players are those of a period, such as %s:spring", id)
	}
	return id, err
}

// listPlayers is GET /v1/admin/boards/{board}/players.
func (h *tournaments) listPlayers(c *gin.Context, caller *auth.Claims) error {
	board, err := periodOfPath(c)
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", defaultPlayers, 1, maxPlayersPage)
	if err != nil {
		return err
	}
	after := scoreboard.UserID(c.Query("after"))
	if after != "" {
		if after, err = scoreboard.ParseUserID(string(after)); err != nil {
			return scoreboard.Invalid("after", "after must be the next_after of a page")
		}
	}
	if _, err := h.boards.findBoard(c, caller); err != nil {
		return err
	}
	list, err := h.store.List(c.Request.Context(), board, after, limit+1)
	if err != nil {
		return err
	}
	out := wire.Players{Players: []wire.Player{}}
	if len(list) > limit {
		list = list[:limit]
		out.NextAfter = string(list[limit-1].User)
	}
	for _, p := range list {
		out.Players = append(out.Players, wire.Player{UserID: string(p.User), JoinedAt: p.Joined})
	}
	respond(c, http.StatusOK, out)
	return nil
}

type playerChange func(
	context.Context, scoreboard.BoardID, scoreboard.UserID, *scoreboard.AuditEntry,
) (scoreboard.Participation, error)

// changePlayer is PUT and DELETE /v1/admin/boards/{board}/players/{user_id}.
func (h *tournaments) changePlayer(
	do playerChange, parse func(string) (scoreboard.UserID, error),
) handler {
	return func(c *gin.Context, caller *auth.Claims) error {
		board, err := periodOfPath(c)
		if err != nil {
			return err
		}
		user, err := parse(c.Param("user_id"))
		if err != nil {
			return err
		}
		if err := decodeNothing(c); err != nil {
			return err
		}
		why := auditEntry(c, caller, scoreboard.AuditUser(user))
		why.Detail = auditDetail(map[string]any{"board": board})
		p, err := do(c.Request.Context(), board, user, why)
		if err != nil {
			return err
		}
		requestLog(h.log, c).Info("players changed", "board", board, "players", p.Players)
		respond(c, http.StatusOK, participationJSON(&p))
		return nil
	}
}
