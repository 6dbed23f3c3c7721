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

// Erased says where the ledger of an erased user went.
type Erased = protocol.Erased

// Erase forgets a user: the ledger goes to an anonymous name, the rest is gone.
// It takes as long as there are rows; asked again it goes on.
func (c *Client) Erase(ctx context.Context, user, reason string) (Erased, error) {
	var e Erased
	err := c.do(ctx, call{
		op: "erase " + user, method: http.MethodPost, path: "/v1/admin/users/" + url.PathEscape(user) + "/erase", sign: true,
		body: func(time.Time) any { return protocol.ReasonRequest{Reason: reason} },
	}, &e)
	return e, err
}

// maxExportLine bounds one row of an export.
const maxExportLine = 1 << 20

// Export writes all that is kept about a user to w, a row of JSON a line, and
// returns how many rows that were. What is cut short is an error.
func (c *Client) Export(ctx context.Context, user string, w io.Writer) (rows int64, err error) {
	fail := func(e *Error) (int64, error) {
		e.Op, e.Attempts = "export "+user, 1
		return rows, e
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url("/v1/admin/users/"+url.PathEscape(user)+"/export", nil).String(), http.NoBody)
	if err != nil {
		return fail(broken(err))
	}
	if err := c.prepare(req); err != nil {
		return fail(broken(err))
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fail(broken(err))
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // what could be read says enough
		return fail(refusal(res, answer, c.now()))
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxExportLine)
	for lines.Scan() {
		var line protocol.ExportLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fail(broken(fmt.Errorf("read a line of the answer: %w", err)))
		}
		if line.Kind == "end" {
			if line.Rows != rows {
				return fail(broken(fmt.Errorf("%d rows came of %d", rows, line.Rows)))
			}
			return rows, nil
		}
		rows++
		if _, err := fmt.Fprintf(w, "%s\n", lines.Bytes()); err != nil {
			return rows, fmt.Errorf("write the export of %s: %w", user, err)
		}
	}
	return fail(broken(errors.Join(errNoResult, lines.Err())))
}
