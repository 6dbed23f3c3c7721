package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Outbox says what waits to be published.
type Outbox interface {
	OutboxStatus(ctx context.Context) (*scoreboard.OutboxStatus, error)
}

// Letters keeps what could not be carried.
type Letters interface {
	DeadLetters(ctx context.Context, after int64, limit int) ([]scoreboard.DeadLetter, error)
	DeadLetter(ctx context.Context, id int64) (*scoreboard.DeadLetter, error)
	RequeueLetter(ctx context.Context, id int64, why *scoreboard.AuditEntry) error
	DropLetter(ctx context.Context, id int64, why *scoreboard.AuditEntry) error
}

// Conditions says how a board's ranking is.
type Conditions interface {
	Condition(ctx context.Context, board scoreboard.BoardID) (*scoreboard.Condition, error)
}

// Operate is what an operator works with.
type Operate struct {
	Outbox     Outbox
	Letters    Letters
	Conditions Conditions
	Node       NodeStatus
	Jobs       Jobs
	Doctor     Doctor
	Archive    Archive       // nil where this process has no folder for it
	running    chan struct{} // holds as many as may run
}

// maxJobs is how many jobs one process runs at once.
const maxJobs = 2

const pathRebuild, pathVerify = "/v1/admin/rebuild", "/v1/admin/verify"

func (a *API) operateRoutes() []route {
	a.Operate.running = make(chan struct{}, maxJobs)
	return []route{
		{"GET", "/v1/admin/checks", auth.ScopeAdmin, unlimited, a.checks},
		{"GET", "/v1/admin/status", auth.ScopeAdmin, unlimited, a.status},
		{"GET", "/v1/admin/outbox", auth.ScopeAdmin, unlimited, a.outbox},
		{"GET", "/v1/admin/dead-letters", auth.ScopeAdmin, unlimited, a.deadLetters},
		{"GET", "/v1/admin/dead-letters/:id", auth.ScopeAdmin, unlimited, a.deadLetter},
		{"POST", "/v1/admin/dead-letters/:id/requeue", auth.ScopeAdmin, unlimited, a.requeueLetter},
		{"DELETE", "/v1/admin/dead-letters/:id", auth.ScopeAdmin, unlimited, a.dropLetter},
		{"GET", "/v1/admin/boards/:board/ranking", auth.ScopeAdmin, unlimited, a.condition},
		{"POST", pathRebuild, auth.ScopeAdmin, unlimited, a.rebuild},
		{"POST", pathVerify, auth.ScopeAdmin, unlimited, a.verify},
		{"POST", "/v1/admin/reconcile", auth.ScopeAdmin, unlimited, a.verify},
		{"POST", "/v1/admin/replay", auth.ScopeAdmin, unlimited, a.replay},
		{"POST", "/v1/admin/ledger/archive", auth.ScopeAdmin, unlimited, a.archiveLedger},
	}
}

// outbox is GET /v1/admin/outbox.
func (a *API) outbox(c *gin.Context, _ *auth.Claims) error {
	s, err := a.Operate.Outbox.OutboxStatus(c.Request.Context())
	if err != nil {
		return err
	}
	halted, err := a.Operate.Jobs.Halted(c.Request.Context())
	if err != nil {
		a.Log.Debug("histories not compared", "err", err) // Redis is away, which is said elsewhere
	}
	out := protocol.Outbox{Halted: halted, Shards: []protocol.OutboxShard{}, HorizonAgeMS: s.HorizonAge.Milliseconds(), Partitions: s.Partitions}
	for _, w := range s.Shards {
		out.Shards = append(out.Shards, protocol.OutboxShard{
			Shard: w.Shard, Owner: w.Owner, Generation: w.Generation, LeaseLeftMS: max(0, w.LeaseLeft.Milliseconds()),
			CursorXID: w.Cursor.XID, CursorID: w.Cursor.ID, Attempts: w.Attempts, LastError: w.LastError,
			Depth: w.Depth, OldestAgeMS: w.OldestAge.Milliseconds(),
		})
	}
	respond(c, http.StatusOK, out)
	return nil
}

const defaultLetters, maxLetters = 100, 1000

// deadLetters is GET /v1/admin/dead-letters.
func (a *API) deadLetters(c *gin.Context, _ *auth.Claims) error {
	limit, err := queryInt(c, "limit", defaultLetters, 1, maxLetters)
	if err != nil {
		return err
	}
	after, err := letterID(c.DefaultQuery("after", "0"))
	if err != nil {
		return err
	}
	letters, err := a.Operate.Letters.DeadLetters(c.Request.Context(), after, limit)
	if err != nil {
		return err
	}
	out := protocol.DeadLetters{Letters: []protocol.DeadLetter{}}
	for i := range letters {
		l := letterJSON(&letters[i])
		l.Value = nil
		out.Letters = append(out.Letters, l)
	}
	if len(letters) == limit {
		out.NextAfter = letters[limit-1].ID
	}
	respond(c, http.StatusOK, out)
	return nil
}

func letterJSON(l *scoreboard.DeadLetter) protocol.DeadLetter {
	return protocol.DeadLetter{
		ID: l.ID, Topic: l.Topic, Partition: l.Partition, Offset: l.Offset, Reason: l.Reason,
		Attempts: l.Attempts, BuriedAt: l.BuriedAt, Value: l.Value,
	}
}

func letterID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return 0, scoreboard.Invalid("id", "a dead letter's id is a number")
	}
	return id, nil
}

// deadLetter is GET /v1/admin/dead-letters/{id}.
func (a *API) deadLetter(c *gin.Context, _ *auth.Claims) error {
	id, err := letterID(c.Param("id"))
	if err != nil {
		return err
	}
	letter, err := a.Operate.Letters.DeadLetter(c.Request.Context(), id)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, letterJSON(letter))
	return nil
}

// requeueLetter is POST /v1/admin/dead-letters/{id}/requeue.
func (a *API) requeueLetter(c *gin.Context, who *auth.Claims) error {
	return a.endLetter(c, who, a.Operate.Letters.RequeueLetter)
}

// dropLetter is DELETE /v1/admin/dead-letters/{id}.
func (a *API) dropLetter(c *gin.Context, who *auth.Claims) error {
	return a.endLetter(c, who, a.Operate.Letters.DropLetter)
}

// endLetter answers with the letter as it was.
func (a *API) endLetter(c *gin.Context, who *auth.Claims, end func(context.Context, int64, *scoreboard.AuditEntry) error) error {
	id, err := letterID(c.Param("id"))
	if err != nil {
		return err
	}
	letter, err := a.Operate.Letters.DeadLetter(c.Request.Context(), id)
	if err != nil {
		return err
	}
	if err := end(c.Request.Context(), id, told(c, who, "letter:"+strconv.FormatInt(id, 10))); err != nil {
		return err
	}
	a.Log.Info("dead letter ended", "path", c.FullPath(), "id", id, "topic", letter.Topic, "partition", letter.Partition, "offset", letter.Offset)
	respond(c, http.StatusOK, letterJSON(letter))
	return nil
}

// condition is GET /v1/admin/boards/{board}/ranking.
func (a *API) condition(c *gin.Context, _ *auth.Claims) error {
	board, err := a.Catalog.Board(c.Request.Context(), scoreboard.BoardID(c.Param("board")))
	if err != nil {
		return err
	}
	k, err := a.Operate.Conditions.Condition(c.Request.Context(), board.ID)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, a.conditionJSON(k))
	return nil
}

func (a *API) conditionJSON(k *scoreboard.Condition) protocol.Condition {
	out := protocol.Condition{
		Board: string(k.Board), State: string(k.State), Rebuilding: k.Rebuilding, Suspect: k.Suspect,
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
