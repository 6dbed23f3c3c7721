package api

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Outbox reports what waits to be published.
type Outbox interface {
	OutboxStatus(ctx context.Context) (*scoreboard.OutboxStatus, error)
}

// DeadLetters reads, requeues and drops dead letters.
type DeadLetters interface {
	DeadLetters(ctx context.Context, after int64, limit int) ([]scoreboard.DeadLetter, error)
	DeadLetter(ctx context.Context, id int64) (*scoreboard.DeadLetter, error)
	// Requeue processes a letter again, and deletes it.
	Requeue(ctx context.Context, letter *scoreboard.DeadLetter, why *scoreboard.AuditEntry) error
	DropLetter(ctx context.Context, id int64, why *scoreboard.AuditEntry) error
}

// Rankings reports the status of a board's ranking.
type Rankings interface {
	Status(ctx context.Context, board scoreboard.BoardID) (*scoreboard.RankingStatus, error)
}

// NodeStatus reports rates and counts of this node, and those of the last hour.
type NodeStatus interface {
	Status() wire.Status
	History() []wire.StatusSample
}

// Doctor checks this server and its backends.
type Doctor interface {
	Checks(ctx context.Context) wire.Checks
}

// Operations are the components behind the routes for operators.
type Operations struct {
	Outbox      Outbox
	DeadLetters DeadLetters
	Rankings    Rankings
	Node        NodeStatus
	Jobs        Jobs
	JobLog      JobLog
	NodeName    string // of this process, in the log of jobs
	Doctor      Doctor
	Exports     BoardExports
	Imports     Imports
	WhatIf      WhatIf
	Archive     Archive // nil if this process has no archive folder
}

// status reports how this node, its backends and rankings are.
type status struct {
	node     NodeStatus
	queue    Outbox
	rankings Rankings
	doctor   Doctor
	jobs     Jobs
	catalog  Catalog
	log      *slog.Logger
	now      clock
}

// outbox is GET /v1/admin/outbox.
func (h *status) outbox(c *gin.Context, _ *auth.Claims) error {
	s, err := h.queue.OutboxStatus(c.Request.Context())
	if err != nil {
		return err
	}
	halted, err := h.jobs.Halted(c.Request.Context())
	if err != nil {
		requestLog(h.log, c).Debug("history of the ranking not checked", "err", err) // the status reports Redis
	}
	out := wire.Outbox{
		Halted: halted, Shards: []wire.OutboxShard{},
		HorizonAgeMS: s.HorizonAge.Milliseconds(), Partitions: s.Partitions,
	}
	for _, w := range s.Shards {
		out.Shards = append(out.Shards, wire.OutboxShard{
			Shard: w.Shard, Owner: w.Owner, Generation: w.Generation,
			LeaseLeftMS: max(0, w.LeaseLeft.Milliseconds()), CursorXID: w.Cursor.XID, CursorID: w.Cursor.ID,
			Attempts: w.Attempts, LastError: w.LastError,
			Depth: w.Depth, OldestAgeMS: w.OldestAge.Milliseconds(),
		})
	}
	respond(c, http.StatusOK, out)
	return nil
}

const defaultDeadLetters, maxDeadLetters = 100, 1000

// deadLetters shows and resolves dead letters.
type deadLetters struct {
	store DeadLetters
	log   *slog.Logger
}

// listDeadLetters is GET /v1/admin/dead-letters.
func (h *deadLetters) listDeadLetters(c *gin.Context, _ *auth.Claims) error {
	limit, err := queryInt(c, "limit", defaultDeadLetters, 1, maxDeadLetters)
	if err != nil {
		return err
	}
	after, err := queryInt(c, "after", 0, 0, math.MaxInt)
	if err != nil {
		return err
	}
	letters, err := h.store.DeadLetters(c.Request.Context(), int64(after), limit)
	if err != nil {
		return err
	}
	out := wire.DeadLetters{Letters: []wire.DeadLetter{}}
	for i := range letters {
		l := deadLetterJSON(&letters[i])
		l.Value = nil
		out.Letters = append(out.Letters, l)
	}
	if len(letters) == limit {
		out.NextAfter = letters[limit-1].ID
	}
	respond(c, http.StatusOK, out)
	return nil
}

func deadLetterJSON(l *scoreboard.DeadLetter) wire.DeadLetter {
	return wire.DeadLetter{
		ID: l.ID, Topic: l.Topic, Partition: l.Partition, Offset: l.Offset, Reason: l.Reason,
		Attempts: l.Attempts, DeadLetteredAt: l.StoredAt, Value: l.Value,
	}
}

// showDeadLetter is GET /v1/admin/dead-letters/{id}.
func (h *deadLetters) showDeadLetter(c *gin.Context, _ *auth.Claims) error {
	id, err := pathID(c, "dead letter")
	if err != nil {
		return err
	}
	letter, err := h.store.DeadLetter(c.Request.Context(), id)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, deadLetterJSON(letter))
	return nil
}

// requeueDeadLetter is POST /v1/admin/dead-letters/{id}/requeue.
func (h *deadLetters) requeueDeadLetter(c *gin.Context, caller *auth.Claims) error {
	if err := decodeNothing(c); err != nil {
		return err
	}
	return h.resolveDeadLetter(c, caller, h.store.Requeue)
}

// dropDeadLetter is DELETE /v1/admin/dead-letters/{id}.
func (h *deadLetters) dropDeadLetter(c *gin.Context, caller *auth.Claims) error {
	return h.resolveDeadLetter(c, caller,
		func(ctx context.Context, letter *scoreboard.DeadLetter, why *scoreboard.AuditEntry) error {
			return h.store.DropLetter(ctx, letter.ID, why)
		})
}

// resolveDeadLetter requeues or drops a dead letter and answers with it.
func (h *deadLetters) resolveDeadLetter(
	c *gin.Context, caller *auth.Claims,
	resolve func(context.Context, *scoreboard.DeadLetter, *scoreboard.AuditEntry) error,
) error {
	id, err := pathID(c, "dead letter")
	if err != nil {
		return err
	}
	letter, err := h.store.DeadLetter(c.Request.Context(), id)
	if err != nil {
		return err
	}
	why := auditEntry(c, caller, "letter:"+strconv.FormatInt(id, 10))
	if err := resolve(c.Request.Context(), letter, why); err != nil {
		return err
	}
	requestLog(h.log, c).Info("dead letter resolved", "path", c.FullPath(), "id", id,
		"topic", letter.Topic, "partition", letter.Partition, "offset", letter.Offset)
	respond(c, http.StatusOK, deadLetterJSON(letter))
	return nil
}

// rankingStatus is GET /v1/admin/boards/{board}/ranking.
func (h *status) rankingStatus(c *gin.Context, _ *auth.Claims) error {
	id, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return err
	}
	board, err := h.catalog.Board(c.Request.Context(), id)
	if err != nil {
		return err
	}
	k, err := h.rankings.Status(c.Request.Context(), board.ID)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, h.rankingStatusJSON(k))
	return nil
}

func (h *status) rankingStatusJSON(k *scoreboard.RankingStatus) wire.RankingStatus {
	out := wire.RankingStatus{
		Board: string(k.Board), State: string(k.State), Partitions: k.Partitions,
		Rebuilding: k.Rebuilding, Suspect: k.Suspect,
		Epoch: k.Epoch, Version: k.Version, Members: k.Members, Bytes: k.Bytes,
	}
	if !k.Built.IsZero() {
		out.BuiltAt = &k.Built
	}
	if !k.AsOf.IsZero() {
		age := max(0, h.now().Sub(k.AsOf).Milliseconds())
		out.AsOf, out.AgeMS = &k.AsOf, &age
	}
	return out
}

// checks is GET /v1/admin/checks.
func (h *status) checks(c *gin.Context, _ *auth.Claims) error {
	respond(c, http.StatusOK, h.doctor.Checks(c.Request.Context()))
	return nil
}

// status is GET /v1/admin/status. A backend that does not answer is listed under
// problems: operators need the status most during an outage.
func (h *status) status(c *gin.Context, _ *auth.Claims) error {
	id, err := queryBoard(c)
	if err != nil {
		return err
	}
	history, err := queryFlag(c, "history")
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	board, err := h.catalog.Board(ctx, id)
	if wire.CodeOf(err) == wire.CodeNotFound {
		return err
	}
	problem := func(source string, err error) string {
		requestLog(h.log, c).Debug("status incomplete", "source", source, "err", err)
		return source + " does not answer"
	}
	out := h.node.Status()
	if history {
		out.History = h.node.History()
	}
	if s, err := h.queue.OutboxStatus(ctx); err != nil {
		out.Problems = append(out.Problems, problem("PostgreSQL", err))
	} else {
		depth, oldest := int64(0), int64(0)
		for _, w := range s.Shards {
			depth, oldest = depth+w.Depth, max(oldest, w.OldestAge.Milliseconds())
		}
		out.OutboxDepth, out.OutboxOldestAgeMS = &depth, &oldest
	}
	if err == nil {
		k, statusErr := h.rankings.Status(ctx, board.ID)
		if statusErr != nil {
			out.Problems = append(out.Problems, problem("Redis", statusErr))
		} else {
			status := h.rankingStatusJSON(k)
			out.Board = &status
		}
	}
	respond(c, http.StatusOK, out)
	return nil
}
