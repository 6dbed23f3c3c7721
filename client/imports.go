package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

type (
	// ImportRequest names the source and the board of an import.
	ImportRequest = wire.ImportRequest
	// Import is what was imported from a source to a board.
	Import = wire.Import
	// ImportSummary is what a board has of the imported users.
	ImportSummary = wire.ImportSummary
	// ImportRecord is a user's score in the other system.
	ImportRecord = wire.ImportRecord
	// ImportedRecords is what became of records.
	ImportedRecords = wire.ImportedRecords
)

// MaxImportRecords is how many records ImportRecords takes at once.
const MaxImportRecords = 500

// StartImport starts or continues the import of a source to a board; a dry run only
// returns what was imported before.
func (c *Client) StartImport(ctx context.Context, r ImportRequest) (Import, error) {
	var i Import
	err := c.do(ctx, call{
		op: "import " + r.Source, method: http.MethodPost, path: "/v1/admin/imports", query: because(ctx), sign: true,
		body: func(time.Time) any { return r },
	}, &i)
	return i, err
}

// ImportSummary reads what the import's board has of its users.
func (c *Client) ImportSummary(ctx context.Context, id int64) (ImportSummary, error) {
	var s ImportSummary
	err := c.do(ctx, call{
		op: "summarise the import", method: http.MethodGet, path: fmt.Sprintf("/v1/admin/imports/%d/summary", id),
	}, &s)
	return s, err
}

// ImportRecords writes what is new in up to MaxImportRecords records of different users. A
// retry writes nothing twice.
func (c *Client) ImportRecords(ctx context.Context, id int64, records []ImportRecord) (ImportedRecords, error) {
	var out ImportedRecords
	err := c.do(ctx, call{
		op: fmt.Sprintf("import %d records", len(records)), method: http.MethodPost,
		path: fmt.Sprintf("/v1/admin/imports/%d/records", id), query: because(ctx), sign: true,
		body: func(time.Time) any { return wire.ImportRecords{Records: records} },
	}, &out)
	return out, err
}
