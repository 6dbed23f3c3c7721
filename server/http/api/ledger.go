package api

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Archive moves old partitions of the ledger to files, and reads them.
type Archive interface {
	Archive(ctx context.Context, dry bool) (*wire.Archived, error)
	// Checkpoint stores the standings of a board at a moment, so that PastBoards reads them for
	// some days. Progress is called with the number of rows read.
	Checkpoint(
		ctx context.Context, board *scoreboard.Board, at time.Time, progress func(rows int64),
	) (*scoreboard.KeptCheckpoint, error)
}

var errNoArchive = scoreboard.Errorf(wire.CodeConflict,
	"this node has no archive: ledger.archive is empty, or the node lacks the role maintenance")

// archiveHeartbeat is the interval of progress lines, which keep the connection alive.
const archiveHeartbeat = time.Second

// ledgerJobs archives the ledger, and stores checkpoints of it.
type ledgerJobs struct {
	archive Archive // nil if this process has no archive folder
	catalog Catalog
	past    *pastReads
	runner  *jobRunner
	now     clock
}

// archiveLedger is POST /v1/admin/ledger/archive: it archives now instead of within
// the hour. A client that disconnects interrupts it; archived partitions stay
// archived.
func (h *ledgerJobs) archiveLedger(c *gin.Context, caller *auth.Claims) error {
	var r wire.ArchiveRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if h.archive == nil {
		return errNoArchive
	}
	var why *scoreboard.AuditEntry
	if !r.DryRun {
		why = auditEntry(c, caller, "ledger:*")
	}
	job := h.runner.newJob(c, caller, "ledger:*")
	job.DryRun = r.DryRun
	return h.runner.runJob(c, job, why, func(ctx context.Context, w *jobWriter) (wire.JobLine, error) {
		return w.beat(func() wire.JobLine { return wire.JobLine{} }, func() (wire.JobLine, error) {
			done, err := h.archive.Archive(ctx, r.DryRun)
			return wire.JobLine{Archived: done}, err
		})
	})
}

// beat runs do and writes a line of progress at each archiveHeartbeat.
func (w *jobWriter) beat(
	progress func() wire.JobLine, do func() (wire.JobLine, error),
) (result wire.JobLine, err error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		result, err = do()
	}()
	ticker := time.NewTicker(archiveHeartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			w.progress(progress())
		case <-ended:
			return result, err
		}
	}
}

// checkpointLedger is POST /v1/admin/ledger/checkpoint: it reads the archive, so that the board
// can be read at a moment that is not in the database any more.
func (h *ledgerJobs) checkpointLedger(c *gin.Context, caller *auth.Claims) error {
	var r wire.CheckpointRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	at := r.At.Truncate(time.Microsecond)
	if at.IsZero() || at.After(h.now()) {
		return scoreboard.Invalid("at", "at must be a time in the past")
	}
	if h.archive == nil {
		return errNoArchive
	}
	id, err := scoreboard.ParseBoardID(cmp.Or(r.Board, string(scoreboard.GlobalBoard)))
	if err != nil {
		return err
	}
	board, err := h.catalog.Board(c.Request.Context(), id)
	if err != nil {
		return err
	}
	board, err = h.past.boardAt(c.Request.Context(), board, string(id), &scoreboard.PastTime{At: at})
	if err != nil {
		return err
	}
	why := auditEntry(c, caller, "board:"+string(board.ID))
	job := h.runner.newJob(c, caller, "board:"+string(board.ID))
	return h.runner.runJob(c, job, why, func(ctx context.Context, w *jobWriter) (wire.JobLine, error) {
		var read atomic.Int64
		progress := func() wire.JobLine { return wire.JobLine{Board: string(board.ID), Records: read.Load()} }
		return w.beat(progress, func() (wire.JobLine, error) {
			made, err := h.archive.Checkpoint(ctx, board, at, read.Store)
			if err != nil {
				return wire.JobLine{}, err
			}
			return wire.JobLine{Checkpoint: &wire.KeptCheckpoint{
				Board: string(made.Board), At: made.At, Users: made.Users, Events: read.Load(),
				KeptUntil: made.KeptUntil,
			}}, nil
		})
	})
}
