package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// BoardExports reads whole boards.
type BoardExports interface {
	// Export calls do with all standings of a board, best first, in chunks from one
	// snapshot.
	Export(ctx context.Context, board *scoreboard.Board, do func([]scoreboard.FinalStanding) error) error
}

// maxExportTime bounds the snapshot of an export: while it is open, PostgreSQL keeps every
// version of every row.
const maxExportTime = 10 * time.Minute

// boardExports exports boards.
type boardExports struct {
	store   BoardExports
	catalog Catalog
	slots   jobSlots
	trail   Trail
	log     *slog.Logger
}

// exportBoard is GET /v1/admin/boards/{board}/export. The read is audited before anything
// is sent.
func (h *boardExports) exportBoard(c *gin.Context, caller *auth.Claims) error {
	name, err := scoreboard.ParseBoardID(c.Param("board"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), maxExportTime)
	defer cancel()
	board, err := h.catalog.Board(ctx, name)
	if err != nil {
		return err
	}
	done, err := h.slots.take(ctx, "board:"+string(board.ID))
	if err != nil {
		return err
	}
	defer done()
	if err := h.trail.Add(ctx, newAuditEntry(c, caller, "board:"+string(board.ID), "")); err != nil {
		return err
	}
	c.Header("Content-Type", "application/x-ndjson")
	c.Header("X-Accel-Buffering", "no")
	c.Status(http.StatusOK)
	var end wire.ExportLine
	write := json.NewEncoder(c.Writer)
	err = h.store.Export(ctx, board, func(chunk []scoreboard.FinalStanding) error {
		extendWriteDeadline(c)
		for i := range chunk {
			s := &chunk[i]
			row := auditDetail(wire.FinalEntry{
				Rank: s.Rank, UserID: string(s.User), Score: int64(s.Score), ReachedAt: s.ReachedAt,
				Metadata: wire.Object(s.Metadata), Subscore: subscoreJSON(board, s.Subscore),
			})
			if err := write.Encode(wire.ExportLine{Kind: "standing", Row: row}); err != nil {
				return err
			}
			end.Rows++
		}
		return nil
	})
	if err != nil { // the status line is sent; the missing end shows the failure
		requestLog(h.log, c).Warn("export incomplete", "err", err)
		return nil
	}
	end.Kind = "end"
	_ = write.Encode(end) // fails only for a client that disconnected
	return nil
}
