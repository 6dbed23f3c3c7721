package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/loadgen/report"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// LoadRuns stores reports of load tests. A change and its audit entry, whose target it
// sets, are one transaction.
type LoadRuns interface {
	Add(ctx context.Context, r *scoreboard.LoadRun, why *scoreboard.AuditEntry) (scoreboard.LoadRun, error)
	List(ctx context.Context, verdict string, before int64, limit int) ([]scoreboard.LoadRun, error)
	Find(ctx context.Context, id int64) (scoreboard.LoadRun, error)
	Delete(ctx context.Context, id int64, why *scoreboard.AuditEntry) (scoreboard.LoadRun, error)
}

// maxLoadRuns bounds a page of load runs.
const maxLoadRuns = 100

// addLoadRun is POST /v1/admin/load-runs.
func (a *API) addLoadRun(c *gin.Context, caller *auth.Claims) error {
	body, err := readBody(c, maxBatchBody)
	if err != nil {
		return err
	}
	if err := protocol.CheckForeignObject(body); err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || len(fields) != 1 || fields["report"] == nil {
		return scoreboard.Invalid("report", "the body must have the field report and no other")
	}
	r, err := report.Decode(fields["report"])
	if err != nil {
		return scoreboard.Invalid("report", "%v", err)
	}
	made, err := a.LoadRuns.Add(c.Request.Context(), &scoreboard.LoadRun{
		Verdict: r.Verdict, Profile: r.Profile, Version: r.Machine.Version, Began: r.Began, Seconds: r.Seconds,
		Rate: r.Rate, P95: r.Latency.P95, P99: r.Latency.P99, Report: fields["report"],
	}, newAuditEntry(c, caller, "", c.Query(queryReason)))
	if err != nil {
		return err
	}
	respond(c, http.StatusCreated, loadRunJSON(&made))
	return nil
}

func loadRunJSON(r *scoreboard.LoadRun) wire.LoadRun {
	return wire.LoadRun{
		LoadRunID: r.ID, UploadedAt: r.Uploaded, Verdict: r.Verdict, Profile: r.Profile, Version: r.Version,
		BeganAt: r.Began, Seconds: r.Seconds, Rate: r.Rate, P95MS: r.P95, P99MS: r.P99, Report: r.Report,
	}
}

// listLoadRuns is GET /v1/admin/load-runs.
func (a *API) listLoadRuns(c *gin.Context, _ *auth.Claims) error {
	limit, err := queryInt(c, "limit", maxLoadRuns, 1, maxLoadRuns)
	if err != nil {
		return err
	}
	before, err := queryID(c, "before")
	if err != nil {
		return err
	}
	verdict := c.Query("verdict")
	switch verdict {
	case "", report.Passed, report.Failed, report.Scaled:
	default:
		return scoreboard.Invalid("verdict", "verdict must be passed, failed or scaled")
	}
	all, err := a.LoadRuns.List(c.Request.Context(), verdict, before, limit)
	if err != nil {
		return err
	}
	out := wire.LoadRuns{LoadRuns: make([]wire.LoadRun, len(all))}
	for i := range all {
		out.LoadRuns[i] = loadRunJSON(&all[i])
	}
	if len(all) == limit {
		out.NextBefore = all[limit-1].ID
	}
	respond(c, http.StatusOK, out)
	return nil
}

// showLoadRun is GET /v1/admin/load-runs/{id}.
func (a *API) showLoadRun(c *gin.Context, _ *auth.Claims) error {
	id, err := pathID(c, "load run")
	if err != nil {
		return err
	}
	r, err := a.LoadRuns.Find(c.Request.Context(), id)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, loadRunJSON(&r))
	return nil
}

// deleteLoadRun is DELETE /v1/admin/load-runs/{id}.
func (a *API) deleteLoadRun(c *gin.Context, caller *auth.Claims) error {
	id, err := pathID(c, "load run")
	if err != nil {
		return err
	}
	r, err := a.LoadRuns.Delete(c.Request.Context(), id, auditEntry(c, caller, ""))
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, loadRunJSON(&r))
	return nil
}
