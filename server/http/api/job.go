package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Jobs are the long-running operations. They stop when ctx ends and leave everything
// consistent.
type Jobs interface {
	Rebuild(
		ctx context.Context, board *scoreboard.Board, progress func(users, total int64),
	) (wire.Rebuilt, error)
	// Verify compares the ranking with the scores, and with ledger also the scores
	// with the ledger. With repair it corrects the ranking.
	Verify(
		ctx context.Context, boards []scoreboard.Board, user scoreboard.UserID, ledger, repair bool,
		progress func(users int64),
	) (*wire.Verified, error)
	// Replay applies records that the transport still retains, or dead letters, again.
	Replay(
		ctx context.Context, r *wire.ReplayRequest, progress func(records, total int64),
	) (*wire.Replayed, error)
	// Halted returns why publishing and rebuilding are halted; "" if they are not.
	Halted(ctx context.Context) (string, error)
	// Adopt accepts a database that was restored to an earlier time, or replaced, and
	// calls rebuild, which rebuilds all boards. The adoption is audited like why. It
	// returns a conflict if another process is doing the same.
	Adopt(ctx context.Context, why *scoreboard.AuditEntry, rebuild func(context.Context) error) error
	// Boards returns the boards that the ranking should hold.
	Boards(ctx context.Context) ([]scoreboard.Board, error)
}

// progressInterval is the shortest interval between two lines of progress.
const progressInterval = 200 * time.Millisecond

// maxJobs bounds the jobs that one process runs at once: those of one caller, or on one board,
// to one less.
const maxJobs = 3

// jobWriter writes a job's answer line by line.
type jobWriter struct {
	c       *gin.Context
	last    time.Time
	current atomic.Pointer[wire.JobLine] // the last progress, for the log of jobs
}

func (w *jobWriter) write(line wire.JobLine) {
	body, err := json.Marshal(line)
	if err != nil { // these types always marshal
		panic(err)
	}
	extendWriteDeadline(w.c)
	_, _ = w.c.Writer.Write(append(body, '\n')) // a client that disconnects cancels the context
	w.c.Writer.Flush()
}

func (w *jobWriter) progress(line wire.JobLine) {
	line.Type = "progress"
	w.current.Store(&line)
	if now := time.Now(); now.Sub(w.last) >= progressInterval {
		w.last = now
		w.write(line)
		clearWriteDeadline(w.c) // the next line may take long
	}
}

// boardJob is a job over boards.
type boardJob func(
	ctx context.Context, r *wire.JobRequest, boards []scoreboard.Board, w *jobWriter,
) (wire.JobLine, error)

// rankingJobs rebuilds, compares and repairs rankings.
type rankingJobs struct {
	jobs    Jobs
	catalog Catalog
	runner  *jobRunner
	now     clock
}

// runBoardJob decodes a request and runs do on its boards.
func (h *rankingJobs) runBoardJob(c *gin.Context, caller *auth.Claims, do boardJob) error {
	var r wire.JobRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	boards, err := h.jobBoards(c.Request.Context(), &r)
	if err != nil {
		return err
	}
	if r.Repair || c.FullPath() == pathRebuild && !r.All {
		if err := h.checkNotHalted(c); err != nil {
			return err
		}
	}
	target := "board:" + cmp.Or(r.Board, "*")
	if r.UserID != "" {
		target = "user:" + r.UserID
	}
	job := h.runner.newJob(c, caller, target)
	var why *scoreboard.AuditEntry
	if c.FullPath() == pathRebuild || r.Repair {
		why = auditEntry(c, caller, target)
	}
	return h.runner.runJob(c, job, why, func(ctx context.Context, w *jobWriter) (wire.JobLine, error) {
		return do(ctx, &r, boards, w)
	})
}

// jobSlots has a slot for each running job.
type jobSlots struct{ pool *share.Pool }

// take takes a slot until release is called, or returns a conflict. target is what the job is about,
// "" if that is neither a board nor all of them.
func (s jobSlots) take(ctx context.Context, target string) (release func(), err error) {
	release, ok := s.pool.Try(ctx, share.Claim{Board: target})
	if !ok {
		return nil, scoreboard.Errorf(wire.CodeConflict,
			"this node is already running %d jobs, or %d of yours or on this board; try again later", maxJobs,
			maxJobs-1)
	}
	return release, nil
}

// jobRunner runs jobs, and reports their progress to the client and to the log of jobs.
type jobRunner struct {
	jobs  JobLog
	node  string // of this process, in the log of jobs
	slots jobSlots
	trail Trail
	log   *slog.Logger
}

// runJob runs do in one of the job slots and streams its progress and result. A job
// changes Redis, files and many transactions, none of which could hold its audit
// entry, so the entry is written before the job starts; an interrupted job is
// audited, too. why is nil for a job that changes nothing. The response's header
// X-Job-Id is the job's number in the log of jobs.
func (h *jobRunner) runJob(
	c *gin.Context, job *scoreboard.Job, why *scoreboard.AuditEntry,
	do func(context.Context, *jobWriter) (wire.JobLine, error),
) error {
	release, err := h.slots.take(c.Request.Context(), job.Target)
	if err != nil {
		return err
	}
	defer release()
	if why == nil {
		skipAudit(c)
	} else if err := h.trail.Add(c.Request.Context(), why); err != nil {
		return err
	}
	if err := h.jobs.Start(c.Request.Context(), job); err != nil {
		return err
	}
	c.Header("Content-Type", "application/x-ndjson")
	c.Header("X-Accel-Buffering", "no")
	c.Header("X-Job-Id", strconv.FormatInt(job.ID, 10))
	c.Status(http.StatusOK)
	c.Writer.WriteHeaderNow()
	c.Writer.Flush()
	w := &jobWriter{c: c, last: time.Now()}
	ctx, stopReporting := h.reportJob(c.Request.Context(), job, w)
	result, err := do(ctx, w)
	state := scoreboard.JobDone
	switch {
	case err == nil:
	case ctx.Err() != nil:
		state = scoreboard.JobStopped
	default:
		state = scoreboard.JobFailed
	}
	stopped := errors.Is(context.Cause(ctx), errJobStopped)
	stopReporting()
	if err != nil {
		var e *scoreboard.Error
		switch {
		case stopped && state == scoreboard.JobStopped:
			e = scoreboard.Errorf(wire.CodeConflict, "%v", errJobStopped)
		case !errors.As(err, &e):
			e = scoreboard.Errorf(wire.CodeInternal, internalMessage)
		}
		requestLog(h.log, c).Warn("job failed", "path", c.FullPath(), "err", err)
		last := protocol.NewError(e)
		last.RequestID = c.GetString(keyRequestID)
		line := wire.JobLine{Type: "error", Error: &last}
		h.endJob(c, job, state, line)
		w.write(line)
		return nil // the status line is sent; the last line reports the error
	}
	result.Type = "result"
	h.endJob(c, job, state, result)
	w.write(result)
	return nil
}

func (h *rankingJobs) jobBoards(ctx context.Context, r *wire.JobRequest) ([]scoreboard.Board, error) {
	if r.All == (r.Board != "") {
		return nil, scoreboard.Invalid("board", "specify either board or all")
	}
	if r.UserID != "" {
		if _, err := scoreboard.ParseUserID(r.UserID); err != nil {
			return nil, err
		}
	}
	if r.All {
		return h.jobs.Boards(ctx)
	}
	id, err := scoreboard.ParseBoardID(r.Board)
	if err != nil {
		return nil, err
	}
	board, err := h.catalog.Board(ctx, id)
	if err != nil {
		return nil, err
	}
	if board.Status == scoreboard.StatusArchived {
		return nil, scoreboard.Errorf(wire.CodeGone, "board %s is archived and has no ranking", board.ID)
	}
	return []scoreboard.Board{*board}, nil
}

// checkNotHalted returns why the ranking must not be changed while it was built from
// another history of the database: it can only be rebuilt as a whole.
func (h *rankingJobs) checkNotHalted(c *gin.Context) error {
	halted, err := h.jobs.Halted(c.Request.Context())
	if err != nil || halted == "" {
		return err
	}
	return scoreboard.Errorf(wire.CodeConflict, "%s; only a rebuild of all boards accepts it", halted)
}

// rebuild is POST /v1/admin/rebuild.
func (h *rankingJobs) rebuild(c *gin.Context, caller *auth.Claims) error {
	return h.runBoardJob(c, caller, func(
		ctx context.Context, r *wire.JobRequest, boards []scoreboard.Board, w *jobWriter,
	) (wire.JobLine, error) {
		result := wire.JobLine{Rebuilt: []wire.Rebuilt{}}
		rebuild := func(ctx context.Context) error {
			for i := range boards {
				done, err := h.jobs.Rebuild(ctx, &boards[i], func(users, total int64) {
					w.progress(wire.JobLine{Board: string(boards[i].ID), Users: users, Total: total})
				})
				if err != nil {
					return err
				}
				result.Rebuilt = append(result.Rebuilt, done)
			}
			return nil
		}
		halted, err := h.jobs.Halted(ctx)
		if err == nil && halted != "" && r.All {
			why := newAuditEntry(c, caller, "board:*", cmp.Or(c.Query(queryReason), halted))
			err = h.jobs.Adopt(ctx, why, rebuild)
		}
		if err == nil && len(result.Rebuilt) == 0 { // not halted, or not any more
			err = rebuild(ctx)
		}
		return result, err
	})
}

// verify is POST /v1/admin/verify, which compares ledger, scores and ranking and
// changes nothing, and POST /v1/admin/reconcile, which compares scores and ranking
// and can repair the ranking.
func (h *rankingJobs) verify(c *gin.Context, caller *auth.Claims) error {
	reconcile := c.FullPath() == pathReconcile
	return h.runBoardJob(c, caller, func(
		ctx context.Context, r *wire.JobRequest, boards []scoreboard.Board, w *jobWriter,
	) (wire.JobLine, error) {
		v, err := h.jobs.Verify(ctx, boards, scoreboard.UserID(r.UserID), !reconcile, reconcile && r.Repair,
			func(users int64) { w.progress(wire.JobLine{Users: users}) })
		return wire.JobLine{Verified: v}, err
	})
}
