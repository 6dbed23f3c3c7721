package api

import (
	"context"
	"math"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
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

// NodeStatus reports rates and counts of this node.
type NodeStatus interface {
	Status() wire.Status
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
	Archive     Archive     // nil if this process has no archive folder
	slots       *share.Pool // one for each running job
}

// outbox is GET /v1/admin/outbox.
func (a *API) outbox(c *gin.Context, _ *auth.Claims) error {
	s, err := a.Operations.Outbox.OutboxStatus(c.Request.Context())
	if err != nil {
		return err
	}
	halted, err := a.Operations.Jobs.Halted(c.Request.Context())
	if err != nil {
		a.Log.Debug("history of the ranking not checked", "err", err) // the status reports Redis
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

// listDeadLetters is GET /v1/admin/dead-letters.
func (a *API) listDeadLetters(c *gin.Context, _ *auth.Claims) error {
	limit, err := queryInt(c, "limit", defaultDeadLetters, 1, maxDeadLetters)
	if err != nil {
		return err
	}
	after, err := queryInt(c, "after", 0, 0, math.MaxInt)
	if err != nil {
		return err
	}
	letters, err := a.Operations.DeadLetters.DeadLetters(c.Request.Context(), int64(after), limit)
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
		Attempts: l.Attempts, BuriedAt: l.StoredAt, Value: l.Value,
	}
}

// showDeadLetter is GET /v1/admin/dead-letters/{id}.
func (a *API) showDeadLetter(c *gin.Context, _ *auth.Claims) error {
	id, err := pathID(c, "dead letter")
	if err != nil {
		return err
	}
	letter, err := a.Operations.DeadLetters.DeadLetter(c.Request.Context(), id)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, deadLetterJSON(letter))
	return nil
}

// requeueDeadLetter is POST /v1/admin/dead-letters/{id}/requeue.
func (a *API) requeueDeadLetter(c *gin.Context, caller *auth.Claims) error {
	if err := decodeNothing(c); err != nil {
		return err
	}
	return a.resolveDeadLetter(c, caller, a.Operations.DeadLetters.Requeue)
}

// dropDeadLetter is DELETE /v1/admin/dead-letters/{id}.
func (a *API) dropDeadLetter(c *gin.Context, caller *auth.Claims) error {
	return a.resolveDeadLetter(c, caller,
		func(ctx context.Context, letter *scoreboard.DeadLetter, why *scoreboard.AuditEntry) error {
			return a.Operations.DeadLetters.DropLetter(ctx, letter.ID, why)
		})
}

// resolveDeadLetter requeues or drops a dead letter and answers with it.
func (a *API) resolveDeadLetter(
	c *gin.Context, caller *auth.Claims,
	resolve func(context.Context, *scoreboard.DeadLetter, *scoreboard.AuditEntry) error,
) error {
	id, err := pathID(c, "dead letter")
	if err != nil {
		return err
	}
	letter, err := a.Operations.DeadLetters.DeadLetter(c.Request.Context(), id)
	if err != nil {
		return err
	}
	why := auditEntry(c, caller, "letter:"+strconv.FormatInt(id, 10))
	if err := resolve(c.Request.Context(), letter, why); err != nil {
		return err
	}
	a.Log.Info("dead letter resolved", logTrace, traceID(c), "path", c.FullPath(), "id", id,
		"topic", letter.Topic, "partition", letter.Partition, "offset", letter.Offset)
	respond(c, http.StatusOK, deadLetterJSON(letter))
	return nil
}

// rankingStatus is GET /v1/admin/boards/{board}/ranking.
func (a *API) rankingStatus(c *gin.Context, _ *auth.Claims) error {
	id, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return err
	}
	board, err := a.Catalog.Board(c.Request.Context(), id)
	if err != nil {
		return err
	}
	k, err := a.Operations.Rankings.Status(c.Request.Context(), board.ID)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, a.rankingStatusJSON(k))
	return nil
}

func (a *API) rankingStatusJSON(k *scoreboard.RankingStatus) wire.RankingStatus {
	out := wire.RankingStatus{
		Board: string(k.Board), State: string(k.State), Partitions: k.Partitions,
		Rebuilding: k.Rebuilding, Suspect: k.Suspect,
		Epoch: k.Epoch, Version: k.Version, Members: k.Members, Bytes: k.Bytes,
	}
	if !k.Built.IsZero() {
		out.BuiltAt = &k.Built
	}
	if !k.AsOf.IsZero() {
		age := max(0, a.Now().Sub(k.AsOf).Milliseconds())
		out.AsOf, out.AgeMS = &k.AsOf, &age
	}
	return out
}

// checks is GET /v1/admin/checks.
func (a *API) checks(c *gin.Context, _ *auth.Claims) error {
	respond(c, http.StatusOK, a.Operations.Doctor.Checks(c.Request.Context()))
	return nil
}

// status is GET /v1/admin/status. A backend that does not answer is listed under
// problems: operators need the status most during an outage.
func (a *API) status(c *gin.Context, _ *auth.Claims) error {
	id, err := queryBoard(c)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	board, err := a.Catalog.Board(ctx, id)
	if wire.CodeOf(err) == wire.CodeNotFound {
		return err
	}
	problem := func(source string, err error) string {
		a.Log.Debug("status incomplete", "source", source, "err", err)
		return source + " does not answer"
	}
	out := a.Operations.Node.Status()
	if s, err := a.Operations.Outbox.OutboxStatus(ctx); err != nil {
		out.Problems = append(out.Problems, problem("PostgreSQL", err))
	} else {
		depth, oldest := int64(0), int64(0)
		for _, w := range s.Shards {
			depth, oldest = depth+w.Depth, max(oldest, w.OldestAge.Milliseconds())
		}
		out.OutboxDepth, out.OutboxOldestAgeMS = &depth, &oldest
	}
	if err == nil {
		k, statusErr := a.Operations.Rankings.Status(ctx, board.ID)
		if statusErr != nil {
			out.Problems = append(out.Problems, problem("Redis", statusErr))
		} else {
			status := a.rankingStatusJSON(k)
			out.Board = &status
		}
	}
	respond(c, http.StatusOK, out)
	return nil
}
