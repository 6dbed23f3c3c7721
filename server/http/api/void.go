package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Voids reverses all events of a sender.
type Voids interface {
	PreviewVoid(ctx context.Context, sender scoreboard.Sender) (*scoreboard.VoidPreview, error)
	CreateVoid(ctx context.Context, sender scoreboard.Sender, why *scoreboard.AuditEntry) (*scoreboard.Void, error)
	UndoVoid(ctx context.Context, id int64, why *scoreboard.AuditEntry) (*scoreboard.Void, error)
	Void(ctx context.Context, id int64) (*scoreboard.Void, error)
	Voids(ctx context.Context, limit int) ([]scoreboard.Void, error)
}

// voids shows and changes voids.
type voids struct {
	store Voids
	now   clock
}

// createVoid is POST /v1/admin/voids: 202 with the job, or for a dry run 200 with
// what it would reverse.
func (h *voids) createVoid(c *gin.Context, caller *auth.Claims) error {
	var r wire.VoidRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	sender := scoreboard.Sender{KeyID: r.KeyID, Address: r.Address, From: r.From, To: r.To}
	if err := sender.Check(h.now()); err != nil {
		return err
	}
	if r.DryRun {
		skipAudit(c)
		p, err := h.store.PreviewVoid(c.Request.Context(), sender)
		if err != nil {
			return err
		}
		out := wire.VoidPreview{
			Events: p.Events, Users: p.Users, Boards: []wire.VoidedBoard{}, Rewards: voidedRewardsJSON(&p.Rewards),
		}
		for _, b := range p.Boards {
			out.Boards = append(out.Boards, wire.VoidedBoard{
				Board: string(b.Board), Events: b.Events, Users: b.Users, Applied: b.Applied, Ended: b.Ended,
			})
		}
		respond(c, http.StatusOK, out)
		return nil
	}
	if err := scoreboard.CheckReason(r.Reason); err != nil {
		return err
	}
	why := newAuditEntry(c, caller, "", r.Reason)
	why.Detail = auditDetail(r)
	v, err := h.store.CreateVoid(c.Request.Context(), sender, why)
	if err != nil {
		return err
	}
	respond(c, http.StatusAccepted, voidJSON(v))
	return nil
}

func voidJSON(v *scoreboard.Void) wire.Void {
	out := wire.Void{
		ID: v.ID, State: string(v.State), KeyID: v.Sender.KeyID, Address: v.Sender.Address,
		Board: string(v.Board), Digest: v.Digest,
		From: v.Sender.From, To: v.Sender.To, Reason: v.Reason, Who: string(v.Actor), CreatedAt: v.Created,
		Todo: v.Todo, Reversed: v.Reversed, Skipped: v.Skipped, Undone: v.Undone, SkippedFor: v.SkippedFor,
		ClosedBoards: boardCounts(v.ClosedBoards), Rewards: voidedRewardsJSON(&v.Rewards),
		UndoAt: timePtr(v.UndoAt), UndoBy: string(v.UndoBy), UndoReason: v.UndoReason,
		Waiting: v.Waiting, Failures: voidFailuresJSON(v.Failed), Problem: v.Problem, Attempts: v.Attempts,
	}
	if v.Problem != "" {
		out.NextAt = timePtr(v.Next)
	}
	if !v.Done.IsZero() {
		out.DoneAt = &v.Done
	}
	return out
}

// voidedRewardsJSON returns nil for none.
func voidedRewardsJSON(r *scoreboard.VoidedRewards) *wire.VoidedRewards {
	if r.Revoked == 0 && r.Flagged == 0 {
		return nil
	}
	out := &wire.VoidedRewards{Revoked: r.Revoked, Flagged: r.Flagged}
	if len(r.First) > 0 {
		out.First = rewardsJSON(r.First)
	}
	return out
}

// boardCounts returns counts by board; nil for none.
func boardCounts(counts map[scoreboard.BoardID]int64) map[string]int64 {
	if len(counts) == 0 {
		return nil
	}
	out := make(map[string]int64, len(counts))
	for board, n := range counts {
		out[string(board)] = n
	}
	return out
}

func voidFailuresJSON(failures []scoreboard.VoidFailure) (out []wire.VoidFailure) {
	for i := range failures {
		f := &failures[i]
		state := "waiting"
		if f.Skipped {
			state = "skipped"
		}
		out = append(out, wire.VoidFailure{
			VoidID: f.Void, UserID: string(f.User), EventID: scoreboard.FormatUUID(f.Event), State: state,
			Reason: f.Reason, Attempts: f.Attempts, NextAt: timePtr(f.Next),
		})
	}
	return out
}

// showVoid is GET /v1/admin/voids/{id}.
func (h *voids) showVoid(c *gin.Context, _ *auth.Claims) error {
	id, err := pathID(c, "void")
	if err != nil {
		return err
	}
	v, err := h.store.Void(c.Request.Context(), id)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, voidJSON(v))
	return nil
}

const maxVoids = 100

// listVoids is GET /v1/admin/voids.
func (h *voids) listVoids(c *gin.Context, _ *auth.Claims) error {
	voids, err := h.store.Voids(c.Request.Context(), maxVoids)
	if err != nil {
		return err
	}
	out := wire.Voids{Voids: []wire.Void{}}
	for i := range voids {
		out.Voids = append(out.Voids, voidJSON(&voids[i]))
	}
	respond(c, http.StatusOK, out)
	return nil
}

// undoVoid is POST /v1/admin/voids/{id}/undo.
func (h *voids) undoVoid(c *gin.Context, caller *auth.Claims) error {
	var r wire.ReasonRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	id, err := pathID(c, "void")
	if err != nil {
		return err
	}
	if err := scoreboard.CheckReason(r.Reason); err != nil {
		return err
	}
	why := newAuditEntry(c, caller, fmt.Sprintf("void:%d", id), r.Reason)
	v, err := h.store.UndoVoid(c.Request.Context(), id, why)
	if err != nil {
		return err
	}
	respond(c, http.StatusAccepted, voidJSON(v))
	return nil
}
