package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Job is a long operation that a node runs or has run. Reading and stopping jobs needs the
// scope score:operate.
type Job = wire.Job

// Jobs lists the newest 100 jobs of all nodes before an id (0: the newest), newest first.
func (c *Client) Jobs(ctx context.Context, before int64) ([]Job, error) {
	var out wire.Jobs
	query := url.Values{}
	if before > 0 {
		query.Set("before", strconv.FormatInt(before, 10))
	}
	err := c.do(ctx, call{op: "list the jobs", method: http.MethodGet, path: "/v1/admin/jobs", query: query}, &out)
	return out.Jobs, err
}

// StopJob has the node that runs a job stop it within two seconds. The error is conflict if
// the job has ended.
func (c *Client) StopJob(ctx context.Context, id int64) (Job, error) {
	var job Job
	err := c.do(ctx, call{
		op: "stop job " + strconv.FormatInt(id, 10), method: http.MethodPost, query: because(ctx), sign: true,
		path: "/v1/admin/jobs/" + strconv.FormatInt(id, 10) + "/stop",
	}, &job)
	return job, err
}
