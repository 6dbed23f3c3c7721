package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Erased is the anonymous name that has an erased user's ledger.
type Erased = wire.Erased

// Erase erases a user: the ledger moves to an anonymous name, all other data is
// deleted. The time depends on the number of rows; a repeat continues.
func (c *Client) Erase(ctx context.Context, user, reason string) (Erased, error) {
	var e Erased
	err := c.do(ctx, call{
		op: "erase " + user, method: http.MethodPost, path: "/v1/admin/users/" + url.PathEscape(user) + "/erase",
		sign: true,
		body: func(time.Time) any { return wire.ReasonRequest{Reason: reason} },
	}, &e)
	return e, err
}

// Export writes all data about a user to w, one JSON row per line, and returns the
// number of rows. An incomplete export is an error.
func (c *Client) Export(ctx context.Context, user string, w io.Writer) (rows int64, err error) {
	return c.export(ctx, "export "+user, "/v1/admin/users/"+url.PathEscape(user)+"/export",
		func(line []byte, _ *wire.ExportLine) error {
			if _, err := fmt.Fprintf(w, "%s\n", line); err != nil {
				return fmt.Errorf("write the export of %s: %w", user, err)
			}
			return nil
		})
}
