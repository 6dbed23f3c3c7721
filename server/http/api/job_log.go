package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// JobLog stores the jobs of all nodes, so that operators see and stop them on any node.
type JobLog interface {
	// Start stores a job that begins, and sets its id and time.
	Start(ctx context.Context, job *scoreboard.Job) error
	// Report stores the last line of a running job, and returns whether an operator has
	// asked to stop it.
	Report(ctx context.Context, id int64, line []byte) (stop bool, err error)
	// End stores how a job has ended.
	End(ctx context.Context, id int64, state string, line []byte) error
	// List lists at most limit jobs before an id (0: from the newest), newest first.
	List(ctx context.Context, before int64, limit int) ([]scoreboard.Job, error)
	// Find returns a job, or a not_found.
	Find(ctx context.Context, id int64) (scoreboard.Job, error)
	// Stop asks the node of a running job to stop it. A job that has ended is a conflict.
	Stop(ctx context.Context, id int64, why *scoreboard.AuditEntry) (scoreboard.Job, error)
}

const (
	reportInterval = time.Second
	reportTime     = 5 * time.Second // for one report
	maxJobLine     = 256 << 10       // bytes of a result that is kept
	maxJobsPage    = 100
)

var errJobStopped = errors.New("an operator has stopped the job")

// newJob returns a job of a request, with the reason from the query.
func (h *jobRunner) newJob(c *gin.Context, caller *auth.Claims, target string) *scoreboard.Job {
	return &scoreboard.Job{
		Kind: path.Base(c.FullPath()), Target: target, Node: h.node, Who: caller.User,
		Reason: c.Query(queryReason),
	}
}

// reportJob reports the progress of a running job until stop is called, and ends the context
// with errJobStopped if an operator asks for it. A report that fails is repeated with the next
// one: the job goes on.
func (h *jobRunner) reportJob(
	ctx context.Context, job *scoreboard.Job, w *jobWriter,
) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(reportInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			limited, done := context.WithTimeout(ctx, reportTime)
			asked, err := h.jobs.Report(limited, job.ID, jobLine(w.current.Load()))
			done()
			if err != nil && ctx.Err() == nil {
				h.log.Debug("job not reported", "job", job.ID, "err", err)
			}
			if asked {
				cancel(errJobStopped)
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}

// endJob stores the end of a job, also one whose client has gone.
func (h *jobRunner) endJob(c *gin.Context, job *scoreboard.Job, state string, last wire.JobLine) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), reportTime)
	defer cancel()
	if err := h.jobs.End(ctx, job.ID, state, jobLine(&last)); err != nil {
		requestLog(h.log, c).Warn("end of a job not stored", "job", job.ID, "state", state, "err", err)
	}
}

// jobLine encodes a line for the log; nil for none. The result of a what-if names many users,
// so it is not kept, and neither is one that is too large.
func jobLine(line *wire.JobLine) []byte {
	if line == nil {
		return nil
	}
	if line.WhatIf != nil {
		short := *line
		short.WhatIf = nil
		line = &short
	}
	body, err := json.Marshal(line)
	if err != nil { // these types always marshal
		panic(err)
	}
	if len(body) > maxJobLine {
		return nil
	}
	return body
}

// jobs shows and stops the jobs of all nodes.
type jobs struct {
	log JobLog
}

// listJobs is GET /v1/admin/jobs.
func (h *jobs) listJobs(c *gin.Context, _ *auth.Claims) error {
	limit, err := queryInt(c, "limit", maxJobsPage, 1, maxJobsPage)
	if err != nil {
		return err
	}
	before, err := queryID(c, "before")
	if err != nil {
		return err
	}
	all, err := h.log.List(c.Request.Context(), before, limit)
	if err != nil {
		return err
	}
	out := wire.Jobs{Jobs: make([]wire.Job, len(all))}
	for i := range all {
		out.Jobs[i] = jobJSON(&all[i])
	}
	if len(all) == limit {
		out.NextBefore = all[limit-1].ID
	}
	respond(c, http.StatusOK, out)
	return nil
}

// showJob is GET /v1/admin/jobs/{id}.
func (h *jobs) showJob(c *gin.Context, _ *auth.Claims) error {
	id, err := pathID(c, "job")
	if err != nil {
		return err
	}
	job, err := h.log.Find(c.Request.Context(), id)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, jobJSON(&job))
	return nil
}

// stopJob is POST /v1/admin/jobs/{id}/stop. The job's node learns of it within a second or
// two. Jobs leave everything consistent when they stop.
func (h *jobs) stopJob(c *gin.Context, caller *auth.Claims) error {
	id, err := pathID(c, "job")
	if err != nil {
		return err
	}
	if err := decodeNothing(c); err != nil {
		return err
	}
	job, err := h.log.Stop(c.Request.Context(), id, auditEntry(c, caller, ""))
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, jobJSON(&job))
	return nil
}

func jobJSON(j *scoreboard.Job) wire.Job {
	out := wire.Job{
		JobID: j.ID, Kind: j.Kind, Target: j.Target, DryRun: j.DryRun, State: j.State, Node: j.Node,
		Who: string(j.Who), Reason: j.Reason, StartedAt: j.Started, EndedAt: timePtr(j.Ended),
	}
	if j.Line != nil {
		out.Line = new(wire.JobLine)
		if json.Unmarshal(j.Line, out.Line) != nil { // of a newer version
			out.Line = nil
		}
	}
	return out
}
