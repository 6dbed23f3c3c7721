package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// Erased is the anonymous name that has an erased user's ledger.
type Erased = protocol.Erased

// Erase erases a user: the ledger moves to an anonymous name, all other data is
// deleted. The time depends on the number of rows; a repeat continues.
func (c *Client) Erase(ctx context.Context, user, reason string) (Erased, error) {
	var e Erased
	err := c.do(ctx, call{
		op: "erase " + user, method: http.MethodPost, path: "/v1/admin/users/" + url.PathEscape(user) + "/erase",
		sign: true,
		body: func(time.Time) any { return protocol.ReasonRequest{Reason: reason} },
	}, &e)
	return e, err
}

// maxExportLine limits one row of an export.
const maxExportLine = 1 << 20

// Export writes all data about a user to w, one JSON row per line, and returns the
// number of rows. An incomplete export is an error.
func (c *Client) Export(ctx context.Context, user string, w io.Writer) (rows int64, err error) {
	fail := func(e *Error) (int64, error) {
		e.Op, e.Attempts = "export "+user, 1
		return rows, e
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		c.url("/v1/admin/users/"+url.PathEscape(user)+"/export", nil).String(), http.NoBody)
	if err != nil {
		return fail(connectionError(err))
	}
	if err := c.prepare(req); err != nil {
		return fail(connectionError(err))
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fail(connectionError(err))
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		response, _ := io.ReadAll(io.LimitReader(res.Body, maxResponse)) // a partial body still has the status
		return fail(responseError(res, response, c.now()))
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxExportLine)
	for lines.Scan() {
		var line protocol.ExportLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fail(connectionError(fmt.Errorf("read a line of the response: %w", err)))
		}
		if line.Kind == "end" {
			if line.Rows != rows {
				return fail(connectionError(fmt.Errorf("incomplete export: %d of %d rows", rows, line.Rows)))
			}
			return rows, nil
		}
		rows++
		if _, err := fmt.Fprintf(w, "%s\n", lines.Bytes()); err != nil {
			return rows, fmt.Errorf("write the export of %s: %w", user, err)
		}
	}
	return fail(connectionError(errors.Join(errNoResult, lines.Err())))
}
