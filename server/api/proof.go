package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// checkProofs reads the action token and the attestation of a request. One that
// is not ours, or for something else, is refused at once; what else speaks
// against it is the transaction's to say, for a repeat is answered all the same.
func (a *API) checkProofs(c *gin.Context, r *protocol.IncrementRequest, in *scoreboard.Increment) error {
	if r.ActionToken != "" {
		action, err := a.ActionTokens.Verify(r.ActionToken)
		if err != nil {
			return err
		}
		if err := action.Covers(in); err != nil {
			return err
		}
		in.ActionID = action.ID
		if in.Objection == nil {
			in.Objection = action.Objection(in, a.Now())
		}
	}
	if r.Attestation == "" {
		in.Attested = a.peer(c.Request) != nil
		return nil
	}
	if a.Attestations == nil {
		return &scoreboard.Error{Code: scoreboard.CodeForbidden, Field: "attestation", Message: "this server verifies no attestations"}
	}
	said, err := a.Attestations.Verify(c.Request.Context(), r.Attestation)
	if err != nil {
		return err
	}
	if err := said.Covers(in); err != nil {
		return err
	}
	in.Attested = true
	if in.Objection == nil {
		in.Objection = said.Objection(a.Now())
	}
	return nil
}

// startAction is POST /v1/actions: a token that lets the user submit one
// increment, within the bounds of its boards or narrower ones.
func (a *API) startAction(c *gin.Context, who *auth.Claims) error {
	var r protocol.ActionRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	action, err := a.newAction(c.Request.Context(), &r, who)
	if err != nil {
		return err
	}
	out := protocol.Action{
		ActionID: scoreboard.FormatUUID(action.ID), ActionToken: a.ActionTokens.Issue(action), UserID: string(action.User), Action: action.Action,
		LeastDuration: action.Least.String(), MinDelta: action.MinDelta, MaxDelta: action.MaxDelta,
		IssuedAt: action.Issued, ExpiresAt: action.Expires,
	}
	for _, board := range action.Boards {
		out.Boards = append(out.Boards, string(board))
	}
	if r.Boards == nil {
		out.Board, out.Boards = out.Boards[0], nil
	}
	respond(c, http.StatusCreated, out)
	return nil
}

func (a *API) newAction(ctx context.Context, r *protocol.ActionRequest, who *auth.Claims) (*scoreboard.Action, error) {
	user := who.User
	if r.UserID != "" {
		named, err := scoreboard.ParseUserID(r.UserID)
		if err != nil {
			return nil, err
		}
		if named != user && !who.Has(auth.ScopeUpdate) {
			return nil, scoreboard.Errorf(scoreboard.CodeForbidden, "the token is not for user %s", named)
		}
		user = named
	}
	if err := scoreboard.CheckAction(r.Action); err != nil {
		return nil, err
	}
	boards, err := boardsOf(&protocol.IncrementRequest{Board: r.Board, Boards: r.Boards})
	if err != nil {
		return nil, err
	}
	if len(boards) > scoreboard.MaxBoards {
		return nil, scoreboard.Invalid("boards", "boards must be at most %d", scoreboard.MaxBoards)
	}
	action := &scoreboard.Action{
		User: user, Boards: boards, Action: r.Action, Issued: a.Now().UTC().Truncate(time.Millisecond),
		MinDelta: -scoreboard.MaxScore, MaxDelta: scoreboard.MaxScore,
	}
	_, _ = rand.Read(action.ID[:]) // never fails
	action.ID[6], action.ID[8] = action.ID[6]&0x0f|0x40, action.ID[8]&0x3f|0x80
	life := scoreboard.MaxActionLife
	for _, id := range boards {
		board, err := a.Catalog.Board(ctx, id)
		if err != nil {
			return nil, err
		}
		if board.Status != scoreboard.StatusActive {
			return nil, scoreboard.Errorf(scoreboard.CodeBoardClosed, "board %s is %s", id, board.Status)
		}
		action.MinDelta, action.MaxDelta = max(action.MinDelta, board.MinDelta), min(action.MaxDelta, board.MaxDelta)
		action.Least, life = max(action.Least, board.Require.ActionLeast), min(life, actionLife(&board.Require))
	}
	if err := narrow(action, r, &life); err != nil {
		return nil, err
	}
	action.Expires = action.Issued.Add(life)
	return action, nil
}

// narrow takes the bounds that were asked for. They cannot be wider than those
// of the boards: then a caller would set rules for itself.
func narrow(a *scoreboard.Action, r *protocol.ActionRequest, life *time.Duration) error {
	ttl, err := duration("ttl", r.TTL, *life, *life)
	if err != nil {
		return err
	}
	least, err := duration("least_duration", r.LeastDuration, a.Least, ttl)
	if err != nil {
		return err
	}
	if least < a.Least || least >= ttl {
		return scoreboard.Invalid("least_duration", "least_duration must be at least %s and shorter than the ttl of %s", a.Least, ttl)
	}
	if r.MinDelta != nil && *r.MinDelta < a.MinDelta || r.MaxDelta != nil && *r.MaxDelta > a.MaxDelta {
		return scoreboard.Invalid("max_delta", "the bounds must be within %d to %d, those of the boards", a.MinDelta, a.MaxDelta)
	}
	if r.MinDelta != nil {
		a.MinDelta = *r.MinDelta
	}
	if r.MaxDelta != nil {
		a.MaxDelta = *r.MaxDelta
	}
	if a.MinDelta > a.MaxDelta {
		return scoreboard.Invalid("max_delta", "no delta lies within the bounds")
	}
	a.Least, *life = least, ttl
	return nil
}

// requirements reads what a new board asks for.
func requirements(to *scoreboard.Requirements, r *protocol.BoardRequest) (err error) {
	for _, what := range r.Require {
		switch what {
		case protocol.RequireActionToken:
			to.ActionToken = true
		case protocol.RequireAttestation:
			to.Attestation = true
		default:
			return scoreboard.Invalid("require", "require takes %s and %s", protocol.RequireActionToken, protocol.RequireAttestation)
		}
	}
	if to.ActionLife, err = duration("action_life", r.ActionLife, 0, scoreboard.MaxActionLife); err != nil {
		return err
	}
	if r.ActionLife != "" && to.ActionLife < scoreboard.MinActionLife {
		return scoreboard.Invalid("action_life", "action_life must be at least %s", scoreboard.MinActionLife)
	}
	to.ActionLeast, err = duration("action_least", r.ActionLeast, 0, actionLife(to)-time.Millisecond)
	return err
}

func actionLife(r *scoreboard.Requirements) time.Duration {
	return cmp.Or(r.ActionLife, scoreboard.DefaultActionLife)
}

// addRequirements adds to a board what it asks for.
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
	if r.ActionLeast > 0 {
		out.ActionLeast = r.ActionLeast.String()
	}
}
