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

	"github.com/scoreboard/scoreboard/client/wire"
)

// Standing is a row of an exported board.
type Standing = wire.FinalEntry

// ExportBoard calls do with every standing of a board, best first, as they were at one
// moment, and returns their number. An incomplete export and an error of do are errors.
func (c *Client) ExportBoard(ctx context.Context, board string, do func(Standing) error) (rows int64, err error) {
	return c.export(ctx, "export board "+board, "/v1/admin/boards/"+url.PathEscape(board)+"/export",
		func(_ []byte, line *wire.ExportLine) error {
			var s Standing
			if err := json.Unmarshal(line.Row, &s); err != nil {
				return connectionError(fmt.Errorf("read a standing of board %s: %w", board, err))
			}
			return do(s)
		})
}

// maxExportLine limits one row of an export.
const maxExportLine = 1 << 20

// export reads an export, without retries, and calls do with each line but the last, which
// has the number of the others.
func (c *Client) export(
	ctx context.Context, op, path string, do func(text []byte, line *wire.ExportLine) error,
) (rows int64, err error) {
	fail := func(e *Error) (int64, error) {
		e.Op, e.Attempts = op, 1
		return rows, e
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url(path, nil).String(), http.NoBody)
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
		var line wire.ExportLine
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
		if err := do(lines.Bytes(), &line); err != nil {
			return rows, err
		}
	}
	return fail(connectionError(errors.Join(errNoResult, lines.Err())))
}
