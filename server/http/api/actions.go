package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// tokenChecks verifies what comes with an increment beside its signature.
type tokenChecks struct {
	tokens       *auth.ActionTokens
	attestations *auth.Attestations // nil without a key set of attesting servers
	window       scoreboard.Window
	peers        peers
	now          clock
}

// checkRequired verifies the action token and the attestation of a request. A forged
// one, or one for another increment, is rejected here. Any other objection is left
// to the transaction, because a repeat is answered in spite of it.
func (p *tokenChecks) checkRequired(c *gin.Context, cmd *command) error {
	r, in := cmd.request, &cmd.Increment
	if r.ActionToken != "" {
		action, err := p.tokens.Verify(r.ActionToken)
		if err != nil {
			return err
		}
		if cmd.boundToken && action.Event == "" {
			return &scoreboard.Error{
				Code: wire.CodeForbidden, Field: "action_token",
				Message: "the action token was not made for an action_id",
			}
		}
		if err := action.Covers(in); err != nil {
			return err
		}
		in.ActionID = action.ID
		in.ActionTime = scoreboard.ActionTime{Started: action.Issued, Ended: p.now(), Min: action.MinTime}
		if in.Objection == nil {
			in.Objection = action.Objection(in, p.now())
		}
	}
	if cmd.dialectForm != nil { // checked before the caller was authorized
		return nil
	}
	return p.checkAttestation(c, cmd)
}

// checkAttestation verifies the attestation of a request, as checkRequired does. A server's
// client certificate counts as one.
func (p *tokenChecks) checkAttestation(c *gin.Context, cmd *command) error {
	r, in := cmd.request, &cmd.Increment
	if r.Attestation == "" {
		in.Attested = p.peers.peerServer(c.Request) != nil
		return nil
	}
	if p.attestations == nil {
		return &scoreboard.Error{
			Code: wire.CodeForbidden, Field: "attestation",
			Message: "attestations are not configured on this server",
		}
	}
	attestation, err := p.attestations.Verify(
		c.Request.Context(), r.Attestation, cmp.Or(cmd.dialectForm, auth.NativeAttestation))
	if err != nil {
		return err
	}
	if user, err := scoreboard.ExternalUserID(string(attestation.User)); err == nil && user == in.User {
		attestation.User = user
	}
	if cmd.attestedEvent != "" && attestation.Event == cmd.attestedEvent {
		attestation.Event = in.Event.Text
	}
	if err := attestation.Covers(in); err != nil {
		return err
	}
	in.Attested = true
	if form := cmd.dialectForm; form != nil && form.Vouches {
		cmd.vouched = true
		if attestation.Timeless() {
			// It could be used again when its event is forgotten, with another timestamp: so it
			// lets the caller write, but does not satisfy a board that requires one.
			attestation.Issued, in.Attested = in.Client, false
		}
	}
	if in.Objection == nil {
		in.Objection = attestation.Objection(p.now(), p.window)
	}
	return nil
}

// actions starts actions.
type actions struct {
	tokens *auth.ActionTokens
	access *boardAccess
	now    clock
	// boundBoard is where an action counts that is started for an event without a board;
	// "" for global.
	boundBoard scoreboard.BoardID
}

// startAction is POST /v1/actions: a token for one increment of the user, within
// the bounds of its boards or narrower ones.
func (h *actions) startAction(c *gin.Context, caller *auth.Claims) error {
	var r wire.ActionRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	action, err := h.newAction(c.Request.Context(), &r, caller)
	if err != nil {
		return err
	}
	out := wire.Action{
		ActionID: cmp.Or(action.Event, scoreboard.FormatUUID(action.ID)), ActionToken: h.tokens.Issue(action),
		UserID: string(action.User), Action: action.Action,
		MinDuration: action.MinTime.String(), MinDelta: action.MinDelta, MaxDelta: action.MaxDelta,
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

func (h *actions) newAction(
	ctx context.Context, r *wire.ActionRequest, caller *auth.Claims,
) (*scoreboard.Action, error) {
	user := caller.User
	if r.UserID != "" {
		named, err := caller.WrittenUser(r.UserID)
		if err != nil {
			return nil, err
		}
		if named != user && !caller.Has(auth.ScopeUpdate) {
			return nil, scoreboard.Errorf(wire.CodeForbidden, "the token is not for user %s", named)
		}
		user = named
	}
	if err := scoreboard.CheckClientAction(r.Action); err != nil {
		return nil, err
	}
	if r.ActionID != "" {
		if _, err := scoreboard.ParseEventID(user, r.ActionID); err != nil {
			return nil, scoreboard.Invalid("action_id",
				"action_id must be 1 to %d characters of A-Z a-z 0-9 . _ : @ -", scoreboard.MaxEventIDLength)
		}
		if r.Board == "" && r.Boards == nil {
			r.Board = string(h.boundBoard)
		}
	}
	boards, err := parseBoards(r.Board, r.Boards)
	if err != nil {
		return nil, err
	}
	if len(boards) > scoreboard.MaxBoards {
		return nil, scoreboard.Invalid("boards", "boards must name at most %d boards", scoreboard.MaxBoards)
	}
	action := &scoreboard.Action{
		User: user, Event: r.ActionID, Boards: boards, Action: r.Action,
		Issued:   h.now().UTC().Truncate(time.Millisecond),
		MinDelta: -scoreboard.MaxScore, MaxDelta: scoreboard.MaxScore,
	}
	_, _ = rand.Read(action.ID[:]) // never fails
	action.ID[6], action.ID[8] = action.ID[6]&0x0f|0x40, action.ID[8]&0x3f|0x80
	ttl := scoreboard.MaxActionTTL
	for _, id := range boards {
		board, err := h.access.board(ctx, id, caller)
		if err != nil {
			return nil, err
		}
		if board.Status != scoreboard.StatusActive {
			return nil, scoreboard.Errorf(wire.CodeBoardClosed, "board %s is %s", id, board.Status)
		}
		action.MinDelta = max(action.MinDelta, board.MinDelta)
		action.MaxDelta = min(action.MaxDelta, board.MaxDelta)
		action.MinTime = max(action.MinTime, board.Require.MinActionTime)
		ttl = min(ttl, actionTTL(&board.Require))
	}
	if err := applyRequestedBounds(action, r, &ttl); err != nil {
		return nil, err
	}
	action.Expires = action.Issued.Add(ttl)
	return action, nil
}

// applyRequestedBounds narrows an action to the requested bounds. They cannot be
// wider than those of its boards.
func applyRequestedBounds(a *scoreboard.Action, r *wire.ActionRequest, maxTTL *time.Duration) error {
	ttl, err := duration("ttl", r.TTL, *maxTTL, *maxTTL)
	if err != nil {
		return err
	}
	minTime, err := duration("min_duration", r.MinDuration, a.MinTime, ttl)
	if err != nil {
		return err
	}
	if minTime < a.MinTime || minTime >= ttl {
		return scoreboard.Invalid("min_duration",
			"min_duration must be at least %s and shorter than the ttl of %s", a.MinTime, ttl)
	}
	if r.MinDelta != nil && *r.MinDelta < a.MinDelta || r.MaxDelta != nil && *r.MaxDelta > a.MaxDelta {
		return scoreboard.Invalid("max_delta",
			"min_delta and max_delta must be within the bounds of the boards, %d to %d", a.MinDelta, a.MaxDelta)
	}
	if r.MinDelta != nil {
		a.MinDelta = *r.MinDelta
	}
	if r.MaxDelta != nil {
		a.MaxDelta = *r.MaxDelta
	}
	if a.MinDelta > a.MaxDelta {
		return scoreboard.Invalid("max_delta", "max_delta must not be below min_delta")
	}
	a.MinTime, *maxTTL = minTime, ttl
	return nil
}
