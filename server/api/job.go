package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Jobs are what an operator has done: they end when ctx does, and leave
// everything consistent.
type Jobs interface {
	Rebuild(ctx context.Context, board *scoreboard.Board, progress func(users, total int64)) (protocol.Rebuilt, error)
	// Verify compares store and ranking; with ledger also the scores with what
	// they are made of. Repair puts the ranking right.
	Verify(ctx context.Context, boards []scoreboard.Board, user scoreboard.UserID, ledger, repair bool, progress func(users int64)) (*protocol.Verified, error)
	// Replay applies again what the transport still holds, or dead letters.
	Replay(ctx context.Context, r *protocol.ReplayRequest, progress func(records, total int64)) (*protocol.Replayed, error)
	// Halted says why nothing is relayed or rebuilt; empty where all is well.
	Halted(ctx context.Context) (string, error)
	// Adopt begins to make a store that has gone back in time, or is another
	// one, the truth; the boards are rebuilt then, and Adopted ends it.
	Adopt(ctx context.Context) error
	Adopted(ctx context.Context) error
	// Boards are those that the ranking should hold.
	Boards(ctx context.Context) ([]scoreboard.Board, error)
}

// progressEvery is the least time between two lines of progress.
const progressEvery = 200 * time.Millisecond

// lines writes a job's answer, line by line.
type lines struct {
	c    *gin.Context
	last time.Time
}

func (l *lines) write(line protocol.JobLine) {
	body, err := json.Marshal(line)
	if err != nil { // our own types always marshal
		panic(err)
	}
	hurry(l.c)
	_, _ = l.c.Writer.Write(append(body, '\n')) // who has gone cancels the context
	l.c.Writer.Flush()
}

func (l *lines) progress(line protocol.JobLine) {
	if now := time.Now(); now.Sub(l.last) >= progressEvery {
		l.last = now
		line.Type = "progress"
		l.write(line)
		unhurry(l.c) // the next may be long in coming
	}
}

// job decodes and runs do on the boards that were asked for.
func (a *API) job(c *gin.Context, who *auth.Claims, do func(ctx context.Context, r *protocol.JobRequest, boards []scoreboard.Board, l *lines) (protocol.JobLine, error)) error {
	var r protocol.JobRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	boards, err := a.jobBoards(c.Request.Context(), &r)
	if err != nil {
		return err
	}
	if r.Repair || c.FullPath() == pathRebuild && !r.All {
		if err := a.steady(c); err != nil {
			return err
		}
	}
	var why *scoreboard.AuditEntry
	if c.FullPath() == pathRebuild || r.Repair {
		target := "board:" + cmp.Or(r.Board, "*")
		if r.UserID != "" {
			target = "user:" + r.UserID
		}
		why = told(c, who, target)
	}
	return a.inTurn(c, why, func(ctx context.Context, l *lines) (protocol.JobLine, error) { return do(ctx, &r, boards, l) })
}

// inTurn takes a turn and answers with what do says while it works. What a job
// changes is in Redis, in files, in one transaction after the other: no one of
// them could hold its entry. So the trail has that before the job begins, and a
// job that is cut short is in it, too. why is nil for one that only looks.
func (a *API) inTurn(c *gin.Context, why *scoreboard.AuditEntry, do func(ctx context.Context, l *lines) (protocol.JobLine, error)) error {
	select {
	case a.Operate.running <- struct{}{}:
		defer func() { <-a.Operate.running }()
	default:
		return scoreboard.Errorf(scoreboard.CodeConflict, "%d jobs are running on this node already", maxJobs)
	}
	if why == nil {
		unchanged(c)
	} else if err := a.Trail.Audited(c.Request.Context(), why); err != nil {
		return err
	}
	c.Header("Content-Type", "application/x-ndjson")
	c.Header("X-Accel-Buffering", "no")
	c.Status(http.StatusOK)
	l := &lines{c: c, last: time.Now()}
	result, err := do(c.Request.Context(), l)
	if err != nil {
		var e *scoreboard.Error
		if !errors.As(err, &e) {
			e = scoreboard.Errorf(scoreboard.CodeInternal, "something went wrong here")
		}
		a.Log.Warn("job ended early", "path", c.FullPath(), "request_id", c.GetString(keyRequestID), "err", err)
		l.write(protocol.JobLine{Type: "error", Error: &protocol.Error{
			ErrorCode: string(e.Code), Message: e.Message, RequestID: c.GetString(keyRequestID),
		}})
		return nil // the status is sent; the last line tells
	}
	result.Type = "result"
	l.write(result)
	return nil
}

func (a *API) jobBoards(ctx context.Context, r *protocol.JobRequest) ([]scoreboard.Board, error) {
	if r.All == (r.Board != "") {
		return nil, scoreboard.Invalid("board", "name a board, or say all")
	}
	if r.All {
		return a.Operate.Jobs.Boards(ctx)
	}
	board, err := a.Catalog.Board(ctx, scoreboard.BoardID(r.Board))
	if err != nil {
		return nil, err
	}
	if board.Status == scoreboard.StatusArchived {
		return nil, scoreboard.Errorf(scoreboard.CodeGone, "board %s is archived: the ranking does not hold it", board.ID)
	}
	return []scoreboard.Board{*board}, nil
}

// steady refuses to change the ranking by a store that it was not built from:
// only all of it can be overwritten.
func (a *API) steady(c *gin.Context) error {
	halted, err := a.Operate.Jobs.Halted(c.Request.Context())
	if err != nil || halted == "" {
		return err
	}
	return scoreboard.Errorf(scoreboard.CodeConflict, "%s; only a rebuild of all boards makes it the truth", halted)
}

// rebuild is POST /v1/admin/rebuild.
func (a *API) rebuild(c *gin.Context, who *auth.Claims) error {
	return a.job(c, who, func(ctx context.Context, r *protocol.JobRequest, boards []scoreboard.Board, l *lines) (protocol.JobLine, error) {
		result := protocol.JobLine{Rebuilt: []protocol.Rebuilt{}}
		halted, err := a.Operate.Jobs.Halted(ctx)
		if err == nil && halted != "" && r.All {
			err = a.Operate.Jobs.Adopt(ctx)
		}
		if err != nil {
			return result, err
		}
		for i := range boards {
			done, err := a.Operate.Jobs.Rebuild(ctx, &boards[i], func(users, total int64) {
				l.progress(protocol.JobLine{Board: string(boards[i].ID), Users: users, Total: total})
			})
			if err != nil {
				return result, err
			}
			result.Rebuilt = append(result.Rebuilt, done)
		}
		if halted != "" {
			return result, a.Operate.Jobs.Adopted(ctx)
		}
		return result, nil
	})
}

// verify is POST /v1/admin/verify, which looks at ledger and ranking and
// changes nothing, and POST /v1/admin/reconcile, which looks at the ranking
// and may put it right.
func (a *API) verify(c *gin.Context, who *auth.Claims) error {
	reconcile := c.FullPath() == "/v1/admin/reconcile"
	return a.job(c, who, func(ctx context.Context, r *protocol.JobRequest, boards []scoreboard.Board, l *lines) (protocol.JobLine, error) {
		v, err := a.Operate.Jobs.Verify(ctx, boards, scoreboard.UserID(r.UserID), !reconcile, reconcile && r.Repair,
			func(users int64) { l.progress(protocol.JobLine{Users: users}) })
		return protocol.JobLine{Verified: v}, err
	})
}
