package client

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// LoadRun is an uploaded report of a load test. Uploading needs the scope score:operate,
// deleting score:admin.
type LoadRun = wire.LoadRun

// UploadLoadRun stores a report of a load test, as report.json has it, at most 1 MiB. The
// error is conflict if the report is stored already.
func (c *Client) UploadLoadRun(ctx context.Context, report json.RawMessage) (LoadRun, error) {
	var r LoadRun
	err := c.do(ctx, call{
		op: "upload a load run", method: http.MethodPost, path: "/v1/admin/load-runs", query: because(ctx), sign: true,
		body: func(time.Time) any { return wire.LoadRunRequest{Report: report} },
	}, &r)
	return r, err
}

// DeleteLoadRun deletes an uploaded report. The error is not_found if it does not exist.
func (c *Client) DeleteLoadRun(ctx context.Context, id int64) error {
	return c.do(ctx, call{
		op: "delete load run " + strconv.FormatInt(id, 10), method: http.MethodDelete,
		path: "/v1/admin/load-runs/" + strconv.FormatInt(id, 10), query: because(ctx), sign: true,
	}, nil)
}
