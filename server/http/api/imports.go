package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Imports writes the scores of other systems.
type Imports interface {
	// FindImport returns the import of a source to a board, with the id 0 if there was none.
	FindImport(ctx context.Context, source string, board scoreboard.BoardID) (scoreboard.Import, error)
	// List lists at most limit imports before an id (0: from the newest), newest first.
	List(ctx context.Context, before int64, limit int) ([]scoreboard.Import, error)
	// StartImport returns the import, which it creates if there was none.
	StartImport(
		ctx context.Context, source string, board scoreboard.BoardID, why *scoreboard.AuditEntry,
	) (scoreboard.Import, error)
	// ImportBoard returns the board of an import.
	ImportBoard(ctx context.Context, id int64) (scoreboard.BoardID, error)
	// SummarizeImport returns what the import's board has of its users.
	SummarizeImport(ctx context.Context, id int64) (scoreboard.BoardID, scoreboard.ImportSummary, error)
	// WriteImport writes what is new in the records, in their order.
	WriteImport(
		ctx context.Context, id int64, records []scoreboard.ImportRecord, by *scoreboard.AuditEntry,
	) (scoreboard.ImportOutcome, error)
}

// imports brings in the scores of other servers.
type imports struct {
	store    Imports
	catalog  Catalog
	slots    jobSlots
	failures *failures
}

// startImport is POST /v1/admin/imports.
func (h *imports) startImport(c *gin.Context, caller *auth.Claims) error {
	var r wire.ImportRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if err := scoreboard.CheckSource(r.Source); err != nil {
		return err
	}
	name, err := scoreboard.ParseBoardID(cmp.Or(r.Board, string(scoreboard.GlobalBoard)))
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	board, err := h.catalog.Board(ctx, name)
	if err != nil {
		return err
	}
	var i scoreboard.Import
	if r.DryRun {
		skipAudit(c)
		i, err = h.store.FindImport(ctx, r.Source, board.ID)
	} else {
		why := auditEntry(c, caller, "board:"+string(board.ID))
		i, err = h.store.StartImport(ctx, r.Source, board.ID, why)
	}
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, importJSON(&i))
	return nil
}

func importJSON(i *scoreboard.Import) wire.Import {
	return wire.Import{
		ImportID: i.ID, Source: i.Source, Board: string(i.Board), Users: i.Users, Events: i.Events,
		StartedAt: timePtr(i.Started), LastAt: timePtr(i.Last),
	}
}

// maxImports bounds a page of imports.
const maxImports = 100

// listImports is GET /v1/admin/imports.
func (h *imports) listImports(c *gin.Context, _ *auth.Claims) error {
	limit, err := queryInt(c, "limit", maxImports, 1, maxImports)
	if err != nil {
		return err
	}
	before, err := queryID(c, "before")
	if err != nil {
		return err
	}
	all, err := h.store.List(c.Request.Context(), before, limit)
	if err != nil {
		return err
	}
	out := wire.Imports{Imports: make([]wire.Import, len(all))}
	for i := range all {
		out.Imports[i] = importJSON(&all[i])
	}
	if len(all) == limit {
		out.NextBefore = all[limit-1].ID
	}
	respond(c, http.StatusOK, out)
	return nil
}

// summarizeImport is GET /v1/admin/imports/{id}/summary. It reads whole boards, so it takes
// a slot of the jobs.
func (h *imports) summarizeImport(c *gin.Context, _ *auth.Claims) error {
	id, err := pathID(c, "import")
	if err != nil {
		return err
	}
	board, err := h.store.ImportBoard(c.Request.Context(), id)
	if err != nil {
		return err
	}
	done, err := h.slots.take(c.Request.Context(), "board:"+string(board))
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(c.Request.Context(), maxExportTime)
	defer cancel()
	_, s, err := h.store.SummarizeImport(ctx, id)
	if err != nil {
		return err
	}
	out := wire.ImportSummary{
		Board: string(board), Users: s.Users, Sum: s.Sum, Digest: strconv.FormatUint(s.Digest, 10),
		Top: make([]string, len(s.Top)), Others: s.Others,
	}
	for i, user := range s.Top {
		out.Top[i] = string(user)
	}
	respond(c, http.StatusOK, out)
	return nil
}

// importRecords is POST /v1/admin/imports/{id}/records. Records that change nothing are not
// audited.
func (h *imports) importRecords(c *gin.Context, caller *auth.Claims) error {
	id, err := pathID(c, "import")
	if err != nil {
		return err
	}
	var r sentRecords
	body, err := readBody(c, maxBatchBody)
	if err != nil {
		return err
	}
	if err := decodeOpaque(c, body, &r, "metadata"); err != nil {
		return err
	}
	records, err := parseRecords(r.Records)
	if err != nil {
		return err
	}
	done, err := h.store.WriteImport(c.Request.Context(), id, records,
		newAuditEntry(c, caller, "", c.Query(queryReason)))
	if err != nil {
		return err
	}
	out := wire.ImportedRecords{
		Written: done.Written, Unchanged: done.Unchanged, Rejected: []wire.RejectedRecord{},
	}
	for _, rejected := range done.Rejected {
		out.Rejected = append(out.Rejected, wire.RejectedRecord{
			UserID: string(rejected.User), Error: h.failures.public(c, rejected.Err),
		})
	}
	respond(c, http.StatusOK, out)
	return nil
}

// sentRecords is a wire.ImportRecords as it is read: a score that is missing is not a 0, which would take away the
// points of a user.
type sentRecords struct {
	Records []sentRecord `json:"records"`
}

type sentRecord struct {
	wire.ImportRecord

	Score *int64 `json:"score"`
}

func parseRecords(in []sentRecord) ([]scoreboard.ImportRecord, error) {
	if len(in) == 0 || len(in) > scoreboard.MaxImportRecords {
		return nil, scoreboard.Invalid("records", "records must be 1 to %d", scoreboard.MaxImportRecords)
	}
	records := make([]scoreboard.ImportRecord, len(in))
	seen := make(map[scoreboard.UserID]bool, len(in))
	for i, r := range in {
		user, err := scoreboard.ParseClientUserID(r.UserID)
		field := fmt.Sprintf("records[%d]", i)
		var invalid *scoreboard.Error
		switch {
		case errors.As(err, &invalid):
			return nil, scoreboard.Invalid(field, "%s: %s", field, invalid.Message)
		case seen[user]:
			return nil, scoreboard.Invalid(field, "%s: user %s is in an earlier record", field, user)
		case r.Score == nil:
			return nil, scoreboard.Invalid(field, "%s: the score is missing", field)
		case !scoreboard.Score(*r.Score).InRange():
			return nil, scoreboard.Invalid(field, "%s: the score must be within ±(2^53 − 1)", field)
		case r.Subscore != nil && !scoreboard.Score(*r.Subscore).InRange():
			return nil, scoreboard.Invalid(field, "%s: the subscore must be within ±(2^53 − 1)", field)
		}
		metadata, err := protocol.ParseMetadata(r.Metadata)
		if errors.As(err, &invalid) {
			return nil, scoreboard.Invalid(field, "%s: %s", field, invalid.Message)
		}
		seen[user] = true
		records[i] = scoreboard.ImportRecord{
			User: user, Score: scoreboard.Score(*r.Score), Subscore: (*scoreboard.Score)(r.Subscore),
			Metadata: metadata,
		}
	}
	return records, nil
}
